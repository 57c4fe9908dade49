//! Quizzes of 300 seeds: the same each time, of every kind, and fit to be read. On the emulated device,
//! whatever else there is: that is where a learner's quizzes run.

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Command, ExitCode};
use std::sync::OnceLock;

use libtest_mimic::{Arguments, Trial};
use streamlings_quiz::key::Key;
use streamlings_quiz::snippet::Snippet;
use streamlings_quiz::{Question, Quiz, quiz};

const SEEDS: std::ops::Range<u64> = 0..300;

/// How many kinds of operation there are.
const KINDS: usize = 46;

const DEVICE: &str = "STREAMLINGS_DEVICE";

fn main() -> ExitCode {
    if std::env::var(DEVICE).as_deref() != Ok("emulated") {
        let mut again = Command::new(std::env::current_exe().expect("it has a path"));
        let again = again.args(std::env::args_os().skip(1)).env(DEVICE, "emulated");
        let passed = again.status().is_ok_and(|status| status.success());
        return if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    let tests: [(&str, fn()); 4] = [
        ("a_seed_gives_the_same_whatever_came_before", a_seed_gives_the_same_whatever_came_before),
        ("quizzes_are_of_every_kind_and_differ", quizzes_are_of_every_kind_and_differ),
        (
            "every_operation_is_seen_with_and_without_effect",
            every_operation_is_seen_with_and_without_effect,
        ),
        (
            "code_and_explanations_fit_and_name_no_address",
            code_and_explanations_fit_and_name_no_address,
        ),
    ];
    let trial = |(name, test): (&str, fn())| {
        Trial::test(name, move || {
            test();
            Ok(())
        })
    };
    libtest_mimic::run(&Arguments::from_args(), tests.map(trial).into()).exit_code()
}

fn drawn(seed: u64) -> (Quiz, Snippet, Key) {
    quiz(seed).unwrap_or_else(|error| panic!("seed {seed}: {error}"))
}

fn all() -> &'static [(Quiz, Snippet, Key)] {
    static ALL: OnceLock<Vec<(Quiz, Snippet, Key)>> = OnceLock::new();
    ALL.get_or_init(|| SEEDS.map(drawn).collect())
}

fn a_seed_gives_the_same_whatever_came_before() {
    for first in all().iter().rev() {
        let again = drawn(first.0.seed);
        assert_eq!((&first.0, &first.1), (&again.0, &again.1));
        assert_eq!(first.2.holding, again.2.holding, "{:?}", first.0);
        assert_eq!(first.2.conflicts, again.2.conflicts, "{:?}", first.0);
    }
}

fn quizzes_are_of_every_kind_and_differ() {
    let mut kinds: BTreeMap<(Question, usize), usize> = BTreeMap::new();
    for (quiz, ..) in all() {
        *kinds.entry((quiz.question, quiz.answer.len())).or_default() += 1;
    }
    for kind in [
        (Question::Holding, 0),
        (Question::Holding, 1),
        (Question::Holding, 2),
        (Question::Holding, 3),
        (Question::Wait, 0),
        (Question::Wait, 2),
    ] {
        assert!(kinds.get(&kind).is_some_and(|count| *count >= 10), "{kind:?} in {kinds:?}");
    }
    let different: BTreeSet<&[String]> = all().iter().map(|(quiz, ..)| &quiz.body[..]).collect();
    // Short ones may meet.
    assert!(different.len() * 100 >= all().len() * 95, "only {} differ", different.len());
    // Memory that was handed out again too early, and a pinned buffer that was refilled.
    let races = || all().iter().flat_map(|(.., key)| &key.races).map(|(_, race)| race);
    assert!(races().any(|race| race.reuse.is_some()));
    assert!(races().any(|race| race.buffer.as_deref() == Some("pinned")));
}

fn every_operation_is_seen_with_and_without_effect() {
    #[derive(Default)]
    struct Seen {
        holds: usize,
        does_not: usize,
        with_answer: usize,
        with_none: usize,
    }
    let mut seen: BTreeMap<&str, Seen> = BTreeMap::new();
    for (quiz, snippet, key) in all() {
        for (index, line) in snippet.lines.iter().enumerate() {
            let seen = seen.entry(line.op.kind()).or_default();
            match key.holding.contains_key(&(index + 1)) {
                true => seen.holds += 1,
                false => seen.does_not += 1,
            }
            match quiz.answer.is_empty() {
                true => seen.with_none += 1,
                false => seen.with_answer += 1,
            }
        }
    }
    assert_eq!(seen.len(), KINDS, "{:?}", seen.keys());
    let (mut table, mut rare) = (String::new(), Vec::new());
    for (kind, seen) in &seen {
        // A line that always holds the host is an answer, unless the other question is asked.
        let may_be_in_none = seen.does_not > 0;
        if seen.with_answer == 0 || may_be_in_none && seen.with_none == 0 {
            rare.push((kind, seen.with_answer, seen.with_none));
        }
        let holds = match (seen.holds, seen.does_not) {
            (0, _) => "never",
            (_, 0) => "always",
            _ => "at times",
        };
        table += &format!("{kind:30} {holds}\n");
    }
    assert!(rare.is_empty(), "only in quizzes with an answer, or only in others: {rare:?}");
    insta::assert_snapshot!(table);
}

fn code_and_explanations_fit_and_name_no_address() {
    for (quiz, ..) in all() {
        let lines = [&quiz.head[..], &quiz.body[..], &quiz.tail[..]].concat();
        // Numbers and marks come before it.
        assert!(lines.iter().all(|line| line.len() <= 90), "{lines:#?}");
        assert!((4..=8).contains(&quiz.body.len()), "{quiz:#?}");
        assert_eq!(quiz.why.is_empty(), quiz.answer.is_empty(), "{quiz:#?}");
        for why in &quiz.why {
            assert!(!why.text.contains("0x"), "{quiz:#?}");
            // Only code that says `synchronize` shows that it does.
            let Some(code) = why.line.and_then(|line| quiz.body.get(line - 1)) else { continue };
            let told = why.text.starts_with("it synchronizes its stream");
            let waits =
                why.text.ends_with("synchronizing a stream waits until all its work is over");
            assert_eq!(told, waits && !code.contains("synchronize()"), "{quiz:#?}");
        }
    }
}
