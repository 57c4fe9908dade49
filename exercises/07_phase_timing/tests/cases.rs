//! The grading cases of exercise 07: one profile, judged from five sides.

use super::exercise::{self, Profile, Timed};
use streamlings::grade::Cases;
use streamlings::grade::checks::{doing, host_polls, judged_runs, record_before_values};
use streamlings::grade::diagnosis as d;
use streamlings::grade::{Finding, Grader};
use streamlings::stage::returned_error;
use streamlings::tensor::nn::Mlp;
use streamlings::tensor::{Device, PinnedTensor, Result, Tensor};
use streamlings::trace::blocks::blocks;
use streamlings::trace::order::waits::ordering_wait;
use streamlings::trace::order::{happens_before, races};
use streamlings::trace::polls::polls;
use streamlings::{Phase, PinnedBatch, Training};

// By path, because this file is a module of other crates, too.
#[path = "cases/record.rs"]
mod record;

use record::{Record, agree, frame_at, show};

pub fn cases() -> Cases {
    Cases::new()
        .case("training", training)
        .case("phases", phases)
        .case("unblocked", unblocked)
        .case("whole", whole)
        .case("timeline", timeline)
}

/// How far a parameter may be from that of the same training on one stream.
const TOLERANCE: f32 = 1e-5;

/// A training, made anew for each run.
struct Task {
    inputs: usize,
    seed: u64,
    rate: f32,
    /// In nanoseconds: long enough for a GPU to be busy with.
    takes: [u64; 4],
    values: Vec<(Vec<f32>, Vec<f32>)>,
}

impl Task {
    fn new(grader: &mut Grader) -> Task {
        let rng = grader.rng();
        let (rows, inputs, steps) = (rng.usize(16..48), rng.usize(8..16), rng.usize(4..7));
        let mut values =
            |count: usize| -> Vec<f32> { (0..count).map(|_| rng.f32() - 0.5).collect() };
        let values = (0..steps).map(|_| (values(rows * inputs), values(rows))).collect();
        let takes = [1_000_000, 600_000, 800_000, 400_000];
        let takes = takes.map(|nanos| nanos + rng.u64(0..200_000));
        Task { inputs, seed: rng.u64(..), rate: 0.1 + 0.1 * rng.f32(), takes, values }
    }

    fn training(&self) -> Result<Training> {
        Ok(Training::new(Mlp::new(&[self.inputs, 8, 1], self.seed)?, self.rate, self.takes))
    }

    fn batches(&self) -> Result<Vec<PinnedBatch>> {
        let batch = |(x, target): &(Vec<f32>, Vec<f32>)| {
            Ok(PinnedBatch {
                x: PinnedTensor::from_slice(x, [target.len(), self.inputs])?,
                target: PinnedTensor::from_slice(target, [target.len(), 1])?,
            })
        };
        self.values.iter().map(batch).collect()
    }

    /// A recorded run of the learner's function, ready to be judged.
    fn run(&self, grader: &mut Grader, seed: Option<u64>) -> Result<Ran, Finding> {
        let (training, batches) = (self.training()?, self.batches()?);
        Device::get()?.synchronize()?;
        let learner = || exercise::profile(&training, &batches);
        let run = match seed {
            None => grader.run(learner)?,
            Some(seed) => grader.run_perturbed(seed, learner)?,
        };
        let profile = run.value.map_err(returned_error);
        match (Record::of(run.trace, batches.len()), profile) {
            (Ok(record), profile) => Ok(Ran { profile, record, training }),
            // What was not run is what came of the error.
            (Err(missing), Err(error)) => Err(error.note(missing.message)),
            (Err(missing), Ok(_)) => Err(missing),
        }
    }

    /// The parameters after the same training, phase after phase on one stream.
    fn expected(&self) -> Result<Vec<Vec<f32>>> {
        let training = self.training()?;
        for batch in &self.batches()? {
            let loss = training.forward(&training.upload(batch)?)?;
            training.backward(&loss)?;
            training.step()?;
        }
        parameters(&training)
    }
}

fn parameters(training: &Training) -> Result<Vec<Vec<f32>>> {
    training.model().parameters().iter().map(Tensor::to_vec).collect()
}

struct Ran {
    /// What the record says comes before an error: it is the reason more often than not.
    profile: Result<Profile, Finding>,
    record: Record,
    training: Training,
}

/// Both streams are used, in order, side by side, and the model is the right one.
fn training(grader: &mut Grader) -> Result<(), Finding> {
    let task = Task::new(grader);
    let expected = task.expected()?;
    judged_runs(grader, |grader, seed| {
        let Ran { profile, record, training } = task.run(grader, seed)?;
        let ordered =
            check_races(grader, &record).and_then(|()| check_side_by_side(grader, &record));
        let values = profile.and_then(|_| check_parameters(&parameters(&training)?, &expected));
        record_before_values(ordered, values)
    })
}

fn check_parameters(got: &[Vec<f32>], expected: &[Vec<f32>]) -> Result<(), Finding> {
    for (got, wanted) in got.iter().flatten().zip(expected.iter().flatten()) {
        // A NaN is near to nothing.
        if !matches!((got - wanted).abs().partial_cmp(&TOLERANCE), Some(order) if order.is_le()) {
            let message = format!("a parameter is {got} after the training, not {wanted}");
            return Err(Finding::new(d::WRONG_VALUE, message));
        }
    }
    Ok(())
}

fn check_races(grader: &Grader, record: &Record) -> Result<(), Finding> {
    let found = races(&record.trace);
    // A missing wait says more than what follows from it for the allocator.
    let Some(race) = found.iter().find(|race| race.reuse.is_none()).or(found.first()) else {
        return Ok(());
    };
    let buffer = race.buffer.as_ref().map_or("memory".to_owned(), |name| format!("`{name}`"));
    let mut finding = Finding::new(
        d::UNORDERED_ACCESS,
        format!("nothing orders two accesses to {buffer}, on two streams"),
    )
    .at(frame_at(grader, &race.later.at), doing(race, &race.later))
    .at(frame_at(grader, &race.earlier.at), doing(race, &race.earlier));
    if race.reuse.is_some() {
        finding = finding.note("in between, the memory was dropped and handed out again");
    }
    Err(finding)
}

/// No upload may have to come after the step before.
fn check_side_by_side(grader: &Grader, record: &Record) -> Result<(), Finding> {
    for step in 1..record.steps() {
        let (before, upload) =
            (record.work(Phase::Step, step - 1), record.work(Phase::Upload, step));
        let (Some(before), Some(upload)) = (before.last(), upload.first()) else { continue };
        if happens_before(&record.trace, *before, *upload) {
            let message = format!("upload {step} has to come after step {}", step - 1);
            let wait = ordering_wait(&record.trace, *before, *upload);
            return Err(Finding::new(d::STREAMS_SERIALIZED, message)
                .at(record.at(grader, *upload), "this upload")
                .at(
                    wait.and_then(|wait| grader.at(&record.trace, &wait)),
                    "comes after the step because of this",
                ));
        }
    }
    Ok(())
}

/// Each figure is that of an event pair around exactly its phase.
fn phases(grader: &mut Grader) -> Result<(), Finding> {
    let task = Task::new(grader);
    let Ran { profile, record, .. } = task.run(grader, None)?;
    record.check_pairs(grader)?;
    let profile = profile?;
    for phase in Phase::ALL {
        for step in 0..record.steps() {
            let timed = find(&profile, phase, step)?;
            let pair = record.pair(phase, step);
            let recorded = pair.and_then(|pair| pair.ms).map_or(f64::NAN, f64::from);
            if !agree(f64::from(timed.ms), recorded) {
                let (name, said) = (phase.name(), show(timed.ms.into()));
                let message =
                    format!("{name} {step} is said to take {said}, and took {}", show(recorded));
                let at = pair.and_then(|pair| frame_at(grader, &pair.at));
                return Err(
                    Finding::new(d::FIGURE_DISAGREES_WITH_RECORD, message).at(at, "read here")
                );
            }
        }
        grader.figure(phase.name(), mean(&profile, phase), "ms a step");
    }
    Ok(())
}

fn find(profile: &Profile, phase: Phase, step: usize) -> Result<Timed, Finding> {
    let wanted = |timed: &&Timed| timed.phase == phase && timed.step == step;
    let found: Vec<&Timed> = profile.phases.iter().filter(wanted).collect();
    match found[..] {
        [one] => Ok(*one),
        _ => {
            let message =
                format!("{} {step} is in the profile {} times", phase.name(), found.len());
            Err(Finding::new(d::WRONG_VALUE, message))
        }
    }
}

fn mean(profile: &Profile, phase: Phase) -> f64 {
    let times = profile.phases.iter().filter(|timed| timed.phase == phase);
    let times: Vec<f64> = times.map(|timed| f64::from(timed.ms)).collect();
    times.iter().sum::<f64>() / times.len().max(1) as f64
}

/// From the first event to the last nothing holds the host.
fn unblocked(grader: &mut Grader) -> Result<(), Finding> {
    let task = Task::new(grader);
    let Ran { profile, record, .. } = task.run(grader, None)?;
    let Some((first, last)) = record.first_and_last_event() else {
        return Err(Finding::new(d::PHASE_BOUNDARY, "no event was recorded"));
    };
    let between = |seq| first < seq && seq < last;
    if let Some(block) = blocks(&record.trace).iter().find(|block| between(block.seq)) {
        let time = (block.left - block.entered) as f64 / 1e6;
        let message = format!("`{}` waits, and events follow", block.function);
        return Err(Finding::new(d::BLOCKED_BETWEEN_EVENTS, message)
            .at(frame_at(grader, &block.at), format!("held the host for {}", show(time)))
            .note(block.reason.sentence()));
    }
    if let Some(poll) = polls(&record.trace).iter().find(|poll| between(poll.seq)) {
        return Err(host_polls(grader, poll));
    }
    profile.map(drop)
}

/// The profile; where the function returned an error, what the record says of its event pairs first.
fn after_record(
    grader: &Grader,
    profile: Result<Profile, Finding>,
    record: &Record,
) -> Result<Profile, Finding> {
    if profile.is_err() {
        record.check_pairs(grader)?;
    }
    profile
}

/// The whole is the time from the first beginning to the last end, in the profile and in the table.
fn whole(grader: &mut Grader) -> Result<(), Finding> {
    let task = Task::new(grader);
    let Ran { profile, record, .. } = task.run(grader, None)?;
    let profile = after_record(grader, profile, &record)?;
    let said = f64::from(profile.whole_ms);
    let sum: f64 = profile.phases.iter().map(|timed| f64::from(timed.ms)).sum();
    grader.figure("whole", said, "ms");
    grader.figure("sum of the phases", sum, "ms");
    let recorded = record.whole();
    if !recorded.is_some_and(|recorded| agree(said, recorded)) {
        let code =
            if agree(said, sum) { d::PHASES_ADDED_UP } else { d::FIGURE_DISAGREES_WITH_RECORD };
        let message = match recorded {
            Some(recorded) => {
                format!("the whole is said to be {}, and was {}", show(said), show(recorded))
            }
            None => format!(
                "the whole is said to be {}, and nobody asked for a time from the first upload to the last step",
                show(said)
            ),
        };
        return Err(Finding::new(code, message));
    }
    let table = exercise::table(&profile);
    let rows = Phase::ALL.map(|phase| (phase.name(), mean(&profile, phase)));
    for (name, wanted) in rows.into_iter().chain([("whole", said)]) {
        let row = table.lines().find_map(|line| line.trim_start().strip_prefix(name));
        let number = row.and_then(|row| row.split_whitespace().find_map(|w| w.parse::<f64>().ok()));
        if !number.is_some_and(|number| agree(number, wanted)) {
            let message = format!("the table does not say that `{name}` takes {}", show(wanted));
            return Err(Finding::new(d::WRONG_VALUE, message));
        }
    }
    Ok(())
}

/// Each beginning is the driver's, and the timeline says what the profile says.
fn timeline(grader: &mut Grader) -> Result<(), Finding> {
    let task = Task::new(grader);
    let Ran { profile, record, .. } = task.run(grader, None)?;
    let profile = after_record(grader, profile, &record)?;
    let shown = record::shown(&exercise::timeline(&profile))?;
    if shown.len() != profile.phases.len() {
        let (rows, phases) = (shown.len(), profile.phases.len());
        let message = format!("the timeline shows {rows} phases, and the profile has {phases}");
        return Err(Finding::new(d::TIMELINE_INCOMPLETE, message));
    }
    let mut rows = Vec::new();
    for phase in Phase::ALL {
        for step in 0..record.steps() {
            let timed = find(&profile, phase, step)?;
            let name = format!("{} {step}", phase.name());
            let disagrees = |what: String| Err(Finding::new(d::TIMELINE_DISAGREES, what));
            let said = f64::from(timed.start_ms);
            match record.start(phase, step) {
                Some(recorded) if agree(said, recorded) => {}
                Some(recorded) => {
                    let recorded = show(recorded);
                    return disagrees(format!(
                        "{name} is said to begin at {}, not {recorded}",
                        show(said)
                    ));
                }
                None => {
                    let message = format!("nobody asked the driver when {name} began");
                    let at = record.pair(phase, step).and_then(|pair| frame_at(grader, &pair.at));
                    return Err(Finding::new(d::BEGINNING_NOT_ASKED, message)
                        .at(at, "only how long it ran is read, here"));
                }
            }
            let Some(bar) = shown.iter().find(|bar| bar.name == name) else {
                let message = format!("the timeline has no `{name}`");
                return Err(Finding::new(d::TIMELINE_INCOMPLETE, message));
            };
            let ms = f64::from(timed.ms);
            if let Some(unit) = record::other_unit(bar, said, ms) {
                let message = format!("the timeline shows {name} in {unit}, not in microseconds");
                return Err(Finding::new(d::TIMELINE_INCOMPLETE, message));
            }
            if !agree(bar.start_ms, said) || !agree(bar.ms, ms) {
                return disagrees(format!(
                    "the timeline shows {name} at {} for {}, and the profile says {} for {}",
                    show(bar.start_ms),
                    show(bar.ms),
                    show(said),
                    show(ms)
                ));
            }
            rows.push((record.stream(phase, step), &bar.row));
        }
    }
    for (stream, row) in &rows {
        if rows.iter().any(|(other, on)| (other == stream) != (on == row)) {
            let message = "the timeline does not have one row for each stream";
            return Err(Finding::new(d::TIMELINE_INCOMPLETE, message));
        }
    }
    Ok(())
}
