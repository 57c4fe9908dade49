//! The case `snippets`: the lines that the record says hold the host, against those that are marked.

use std::cell::Cell;
use std::collections::BTreeSet;

use super::exercise::snippets as learner;
use streamlings::driver::recording;
use streamlings::grade::diagnosis as d;
use streamlings::grade::marks::{Function, Marked, Problem, Stray};
use streamlings::grade::{At, Finding, Grader};
use streamlings::tensor::{
    Device, Download, Error, HostTensor, Index, PinnedTensor, Result, Stream, Tensor, spin,
};
use streamlings::trace::blocks::{blocks, blocks_in};
use streamlings::trace::regions::{Region, regions};
use streamlings::trace::{Frame, MarkKind, Trace};

/// What a line that holds the host ends with.
const MARK: &str = "//~ SYNC";

/// The learner's file.
const FILE: &str = "src/snippets.rs";

/// How long the current stream is busy when a snippet begins, in nanoseconds.
const BUSY: u64 = 1_000_000;

/// What the snippets work on.
struct Lab {
    x: Tensor,
    y: Tensor,
    loss: Tensor,
    rate: Tensor,
    places: Index,
    batch: HostTensor,
    pinned: PinnedTensor,
    dataset: HostTensor,
    side: Stream,
    /// For the one snippet that reads it.
    download: Cell<Option<Download>>,
    /// Rows of a matrix.
    rows: usize,
}

impl Lab {
    fn new(grader: &mut Grader) -> Result<Lab> {
        let (rows, columns) = (grader.rng().usize(8..20), grader.rng().usize(8..20));
        let mut values = |count: usize| -> Vec<f32> {
            (0..count).map(|_| grader.rng().i32(-100..100) as f32 / 8.0).collect()
        };
        let shape = [rows, columns];
        let x = Tensor::from_slice(&values(rows * columns), shape)?;
        let batch = HostTensor::new(values(rows * columns), shape)?;
        Ok(Lab {
            y: x.scale(0.5)?,
            loss: x.mean()?,
            rate: Tensor::full([], 0.5)?,
            places: Index::from_slice(&[1, 3, 5])?,
            pinned: batch.pin()?,
            batch,
            // 8 MiB, well above what the driver stages.
            dataset: HostTensor::new(vec![1.0; 2 << 20], [2 << 20])?,
            side: Stream::new("side")?,
            download: Cell::default(),
            x,
            rows,
        })
    }
}

type Run = fn(&Lab, &mut Vec<String>) -> Result<()>;

/// Every snippet, with the digest of its code: a learner may mark a line, and neither change nor leave
/// out one. Which lines hold the host is written down nowhere.
const SNIPPETS: &[(&str, u64, Run)] = &[
    ("print_loss", 0x0cb3_66c7_e188_03f1, |lab, log| learner::print_loss(&lab.loss, log)),
    ("print_shape", 0x1e46_8833_9a03_8fee, |lab, log| learner::print_shape(&lab.x, log)),
    ("allocate", 0xcd16_ae1e_8f99_677e, |lab, _| learner::allocate(lab.rows).map(drop)),
    ("constants", 0x76f3_6771_3869_0682, |_, log| learner::constants(log).map(drop)),
    ("free", 0xb439_6cff_e63e_bf84, |lab, log| learner::free(100 * lab.rows, log)),
    ("branch_on_the_loss", 0xbd12_ddd1_58eb_b16f, |lab, _| {
        learner::branch_on_the_loss(&lab.loss, &mut 0.1).map(drop)
    }),
    ("branch_on_the_device", 0xa8f3_9344_f1e6_6cee, |lab, _| {
        learner::branch_on_the_device(&lab.loss, &lab.rate).map(drop)
    }),
    ("sum_of_positives", 0x4374_c06a_17f7_bcea, |lab, _| {
        learner::sum_of_positives(&lab.x).map(drop)
    }),
    ("sum_of_positives_again", 0xdfce_4734_4809_6379, |lab, _| {
        learner::sum_of_positives_again(&lab.x).map(drop)
    }),
    ("take", 0xda18_6429_4777_85fa, |lab, log| learner::take(&lab.x, &lab.places, log).map(drop)),
    ("take_these", 0x0366_8ed7_e196_6121, |lab, log| learner::take_these(&lab.x, log).map(drop)),
    ("take_nonzero", 0x7011_eae6_f7cb_4f0c, |lab, _| learner::take_nonzero(&lab.x).map(drop)),
    ("accuracy", 0x4de7_1328_56ce_de6a, |lab, log| learner::accuracy(&lab.x, &lab.y, log)),
    ("compare", 0xd387_d7b1_cd0f_4f30, |lab, log| learner::compare(&lab.x, &lab.y, log)),
    ("copy_aside", 0x78c5_ea2a_86aa_1f4f, |lab, _| learner::copy_aside(&lab.x, &lab.y).map(drop)),
    ("upload", 0xb772_5902_a3e7_00e9, |lab, log| learner::upload(&lab.batch, log).map(drop)),
    ("upload_large", 0xe17f_eb4d_bf78_2300, |lab, log| {
        learner::upload_large(&lab.dataset, log).map(drop)
    }),
    ("upload_pinned", 0x353b_07d3_6c36_44a1, |lab, log| {
        learner::upload_pinned(&lab.pinned, log).map(drop)
    }),
    ("download", 0x6c40_8e19_044a_e883, |lab, log| learner::download(&lab.x, log)),
    ("download_pinned", 0x3acb_283e_3f59_3a5c, |lab, log| {
        learner::download_pinned(&lab.x, log).map(drop)
    }),
    ("read_pinned", 0x3397_2c65_5077_d582, |lab, log| {
        lab.download.take().map_or(Ok(()), |download| learner::read_pinned(download, log))
    }),
    ("wait_on_the_device", 0x9f29_c3cd_d1e7_d401, |lab, _| {
        learner::wait_on_the_device(&lab.x, &lab.side).map(drop)
    }),
    ("wait_on_the_host", 0xab7b_fc95_26b2_497b, |lab, log| learner::wait_on_the_host(&lab.x, log)),
    ("time", 0xfe2e_75f6_ca07_2ac0, |lab, log| learner::time(&lab.x, log)),
];

/// The digest of which statements hold the host, of all snippets. A snippet's text says what it does
/// only as long as its names mean what they did: this also tells of a text that is not the compiled
/// one, and of macros and types that took the place of others.
const HOLDING: u64 = 0x0829_fba8_c7c0_cf46;

/// Runs every snippet behind a busy stream, each in a region of its name.
fn run_all(lab: &Lab) -> Result<(), (&'static str, Error)> {
    let device = Device::get().map_err(|error| ("", error))?;
    for (name, _, run) in SNIPPETS {
        let within = |error| (*name, error);
        spin(BUSY).map_err(within)?;
        lab.download.set(Some(lab.x.to_host_pinned().map_err(within)?));
        recording::mark(MarkKind::Begin { region: (*name).to_owned() });
        let result = run(lab, &mut Vec::new());
        recording::mark(MarkKind::End { region: (*name).to_owned() });
        result.map_err(within)?;
        device.synchronize().map_err(within)?;
    }
    Ok(())
}

pub fn snippets(grader: &mut Grader) -> Result<(), Finding> {
    let lab = Lab::new(grader)?;
    Device::get()?.synchronize()?;
    let run = grader.run(|| run_all(&lab))?;
    if let Err((name, error)) = run.value {
        let message = format!("`{name}` returned an error: {error}");
        return Err(Finding::new(d::RETURNED_ERROR, message));
    }
    let marked = Marked::read(learner::SOURCE.lines(), MARK);
    let all = regions(&run.trace);
    let mut wrong: Option<Finding> = None;
    let mut right = 0;
    let mut holding = Digest::default();
    for (name, digest, _) in SNIPPETS {
        let region = all.iter().find(|region| region.name == *name);
        let region = region.ok_or_else(|| Finding::new(d::SETUP_FAILED, "a region is missing"))?;
        let function = marked.functions.iter().find(|function| function.name == *name);
        let function = function.ok_or_else(|| {
            let message = format!("`{name}` is not in {FILE} any more");
            Finding::new(d::SNIPPET_CHANGED, message)
        })?;
        let key = Key::of(grader, &run.trace, region, function)?;
        if function.digest != *digest {
            let message = format!("`{name}` is not what it was in the starter");
            return Err(Finding::new(d::SNIPPET_CHANGED, message)
                .at(key.at, "only comments may be added here")
                .note(format!("its code has the digest {:#018x}", function.digest)));
        }
        holding.add(name, &key.holding);
        match key.compare(function) {
            None => right += 1,
            Some(code) => {
                wrong.get_or_insert_with(|| {
                    Finding::new(code, format!("`{name}` is the first that is not"))
                        .at(key.at, "look at the lines of this one")
                });
            }
        }
    }
    grader.figure("snippets marked right", f64::from(right), &format!("of {}", SNIPPETS.len()));
    if let Some(stray) = marked.stray.first() {
        return Err(of_stray(grader, &run.trace, &all, stray));
    }
    if holding.value != HOLDING {
        let message = "the snippets do not hold the host where the starter's do";
        return Err(Finding::new(d::SNIPPET_CHANGED, message)
            .note(
                "something in src/ changes what their names mean, or what the marks are read from",
            )
            .note(format!("what holds the host has the digest {:#018x}", holding.value)));
    }
    match wrong {
        None => Ok(()),
        Some(mut finding) => {
            let count = format!("{right} of {} snippets are marked right", SNIPPETS.len());
            finding.message = format!("{count}; {}", finding.message);
            Err(finding)
        }
    }
}

/// FNV-1a: it has to be the same on every machine, and nothing more.
struct Digest {
    value: u64,
}

impl Default for Digest {
    fn default() -> Digest {
        Digest { value: 0xcbf2_9ce4_8422_2325 }
    }
}

impl Digest {
    /// Adds a snippet: its name, and which of its statements hold the host.
    fn add(&mut self, name: &str, holding: &BTreeSet<usize>) {
        let text = format!("{name} {holding:?}\n");
        for byte in text.bytes() {
            self.value = (self.value ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

/// Which statements of a snippet held the host, or would have.
struct Key {
    holding: BTreeSet<usize>,
    /// Where the snippet begins.
    at: Option<At>,
}

impl Key {
    fn of(
        grader: &Grader,
        trace: &Trace,
        region: &Region,
        function: &Function,
    ) -> Result<Key, Finding> {
        let elsewhere = || {
            let message = format!("the calls of `{}` do not come from {FILE}", function.name);
            Finding::new(d::SNIPPET_CHANGED, message)
        };
        let statement =
            |frame: &Frame| function.statement_at(frame.line).filter(|_| is_in_file(frame));
        // Every snippet calls the driver; what it calls from elsewhere is not what is to be marked.
        let mut frames = region.calls(trace).filter_map(|call| trace.at(call));
        let frame = frames.find(|frame| statement(frame).is_some()).ok_or_else(elsewhere)?;
        let header = Frame { line: function.line, ..frame.clone() };
        let mut holding = BTreeSet::new();
        for block in blocks_in(&blocks(trace), region) {
            let place = block.at.as_ref().and_then(statement);
            holding.insert(place.ok_or_else(elsewhere)?);
        }
        Ok(Key { holding, at: grader.frame_at(&header) })
    }

    /// What is wrong with the marks, if anything is.
    fn compare(&self, function: &Function) -> Option<&'static d::Diagnosis> {
        let marked = (0..function.statements.len()).filter(|at| function.statements[*at].marked);
        let marked: BTreeSet<usize> = marked.collect();
        if !self.holding.is_subset(&marked) {
            Some(d::SYNC_NOT_MARKED)
        } else if marked != self.holding {
            Some(d::MARKED_WITHOUT_SYNC)
        } else {
            None
        }
    }
}

fn is_in_file(frame: &Frame) -> bool {
    frame.file.as_ref().is_some_and(|file| file.ends_with(FILE))
}

fn of_stray(grader: &Grader, trace: &Trace, all: &[Region], stray: &Stray) -> Finding {
    let text = learner::SOURCE.lines().nth(stray.line as usize - 1).unwrap_or_default();
    let comment = text.find("//").or(text.find("/*")).map_or("", |at| text[at..].trim());
    let message = match stray.problem {
        Problem::Spelling => format!("`{comment}` is not written `{MARK}`"),
        Problem::LineOfItsOwn => format!("`{MARK}` stands on a line of its own"),
        Problem::OutsideOfFunctions => format!("`{MARK}` stands outside of the snippets"),
    };
    let calls = all.iter().flat_map(|region| region.calls(trace));
    let frame = calls.filter_map(|call| trace.at(call)).find(|frame| is_in_file(frame));
    let at = frame.and_then(|frame| grader.frame_at(&Frame { line: stray.line, ..frame.clone() }));
    Finding::new(d::NOT_A_MARK, message).at(at, "not counted")
}
