//! The learner's commands: list, next, hint, solution, reset, explain, completions.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::workspace::{RIGHT, complaint, said, workspace, write, xtask};

const WRONG: &[u8] = b"//! An answer.\npub fn answer() -> u32 {\n    41\n}\n";

#[test]
fn what_was_checked_is_listed_until_it_changes() {
    let root = workspace(["exercises"], &[("sum", RIGHT), ("product", WRONG), ("rest", RIGHT)]);
    let root = root.path();
    let row = |number: usize| {
        let (text, code) = said(root, &["list"]);
        assert_eq!(code, Some(0));
        let row = text.lines().nth(number).expect("there is a line for it");
        row.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(row(2), "02 product not checked - -");
    assert!(said(root, &["next"]).0.starts_with("01 sum: an answer\n"));

    // One that does not pass keeps no other from being remembered.
    assert_eq!(said(root, &["check", "1", "2"]).1, Some(1));
    assert!(row(1).starts_with("01 sum passed 20"), "{}", row(1));
    assert!(row(1).ends_with(" a stand-in"), "{}", row(1));
    assert!(row(2).starts_with("02 product wrong "), "{}", row(2));
    assert_eq!(row(4), "1 of 3 exercises passed. Next: 02 product, see `cargo xtask next`.");
    assert!(said(root, &["next"]).0.starts_with("02 product: an answer\n"));

    // The solutions are nobody's progress.
    said(root, &["check", "--solutions"]);
    assert!(row(3).contains("not checked"), "{}", row(3));

    write(root, "exercises/01_sum/src/lib.rs", WRONG);
    assert!(row(1).starts_with("01 sum passed, changed since 20"), "{}", row(1));
    let (text, _) = said(root, &["list", "--format", "json"]);
    let list: Value = serde_json::from_str(&text).expect("it is JSON");
    assert_eq!(list["schema"], 1);
    assert_eq!(list["next"], "product");
    let first = &list["exercises"][0];
    assert_eq!((&first["outcome"], &first["changed"]), (&"passed".into(), &true.into()));
    assert_eq!(first["passed"]["device"]["name"], "a stand-in");
    assert_eq!(list["exercises"][2]["passed"], Value::Null);

    // The last pass stays, whatever comes later.
    said(root, &["check", "sum"]);
    assert!(row(1).starts_with("01 sum wrong 20"), "{}", row(1));
    assert!(said(root, &["next"]).0.starts_with("01 sum: an answer\n"));
}

#[test]
fn hints_come_one_by_one() {
    let root = workspace(["exercises"], &[("sum", RIGHT), ("product", RIGHT)]);
    let hint = |name: &str| said(root.path(), &["hint", name]).0;
    assert_eq!(
        hint("1"),
        "01 sum\nhint 1 of 3: think\n2 are left: `cargo xtask hint 1` shows the next.\n"
    );
    assert!(
        hint("sum").ends_with("hint 2 of 3: add\nOne is left: `cargo xtask hint 1` shows it.\n")
    );
    // Each exercise has its own.
    assert!(hint("product").contains("hint 1 of 3: think\n"));
    let last = hint("1");
    let (_, end) = last.split_once("hint 3 of 3: six times seven\n").expect("the last hint");
    assert!(end.starts_with("That was the last one. `cargo xtask solution 1 --spoil`"), "{end}");
    let all = "01 sum: these are all the hints.\n\
        hint 1 of 3: think\nhint 2 of 3: add\nhint 3 of 3: six times seven\n";
    assert_eq!((hint("1"), hint("1")), (all.to_owned(), all.to_owned()));

    // Without a name, of the one that is next.
    assert_eq!(said(root.path(), &["hint"]).0, all);
    said(root.path(), &["check", "1"]);
    assert!(said(root.path(), &["hint"]).0.starts_with("02 product\nhint 2 of 3: add\n"));
    said(root.path(), &["check", "2"]);
    assert!(said(root.path(), &["hint"]).0.starts_with("All exercises have passed."));

    let output = xtask(root.path(), &["hint", "summ"]);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(said, "error: there is no exercise `summ`; did you mean `sum`?\n");
}

#[test]
fn next_says_what_takes_a_name() {
    let root = workspace(["exercises"], &[("sum", RIGHT), ("product", RIGHT)]);
    let wanted =
        "error: `next` takes no name; for that one, use `cargo xtask watch 2` or `check 2`\n";
    assert_eq!(complaint(root.path(), &["next", "product"]), wanted);
    assert_eq!(said(root.path(), &["next", "2"]), (String::new(), Some(2)));
    let unknown = "error: there is no exercise `prodct`; did you mean `product`?\n";
    assert_eq!(complaint(root.path(), &["next", "prodct"]), unknown);
}

#[test]
fn a_pass_says_what_to_go_on_with() {
    let root = workspace(["exercises"], &[("sum", RIGHT), ("product", WRONG), ("rest", RIGHT)]);
    let root = root.path();
    let begin = |number: u32, name: &str| {
        format!(
            "Next:   0{number} {name}\n        read exercises/0{number}_{name}/README.md\n        \
             edit exercises/0{number}_{name}/src/lib.rs\n        then cargo xtask check {number}\n"
        )
    };
    let check = |arguments: &[&str]| said(root, &[&["check"], arguments].concat()).0;
    assert!(check(&["1"]).contains(&begin(2, "product")), "{}", check(&["1"]));
    // The first open one behind it, else the first open one.
    assert!(check(&["3"]).contains(&begin(2, "product")));
    // What does not pass is what is next.
    assert!(check(&["2", "3"]).contains(&begin(2, "product")));
    write(root, "exercises/02_product/src/lib.rs", RIGHT);
    let all = check(&[]);
    assert!(all.contains("Solved: 3 of 3") && !all.contains("Next:"), "{all}");
    assert!(!said(root, &["check", "--solutions", "1"]).0.contains("Next:"));
}

#[test]
fn a_solution_is_shown_after_a_pass_or_on_demand() {
    let root = workspace(["exercises"], &[("sum", WRONG)]);
    let root = root.path();
    write(root, "solutions/01_sum/src/lib.rs", RIGHT);
    let refused = xtask(root, &["solution", "sum"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(refused.stdout.is_empty());
    assert!(String::from_utf8_lossy(&refused.stderr).contains("add --spoil"), "{refused:?}");

    let diff = "\
--- exercises/01_sum/src/lib.rs
+++ solutions/01_sum/src/lib.rs
@@ -1,4 +1,4 @@
 //! An answer.
 pub fn answer() -> u32 {
-    41
+    42
 }
";
    assert_eq!(said(root, &["solution", "sum", "--spoil"]), (diff.to_owned(), Some(0)));
    write(root, "exercises/01_sum/src/lib.rs", RIGHT);
    said(root, &["check"]);
    let same = "Your code is the reference solution, line by line.\n";
    assert_eq!(said(root, &["solution", "1"]), (same.to_owned(), Some(0)));
    // It has passed; that it was broken since takes nothing away.
    write(root, "exercises/01_sum/src/lib.rs", WRONG);
    said(root, &["check"]);
    assert_eq!(said(root, &["solution", "sum"]), (diff.to_owned(), Some(0)));
}

#[test]
fn reset_keeps_every_version_and_needs_no_git() {
    let root = workspace(["exercises"], &[("sum", RIGHT)]);
    let root = root.path();
    let file = |path: &str| std::fs::read(root.join(path)).unwrap_or_default();
    write(root, "solutions/01_sum/starter/lib.rs", WRONG);
    write(root, "exercises/01_sum/src/part.rs", b"//! A part.\n");
    said(root, &["check"]);

    let refused = xtask(root, &["reset", "sum"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("no terminal"), "{refused:?}");
    assert_eq!(file("exercises/01_sum/src/lib.rs"), RIGHT);

    // Three times within a second: none may take another's place.
    let mut kept = Vec::new();
    for version in [RIGHT, b"//! Another.\n", b"//! A third.\n"] {
        write(root, "exercises/01_sum/src/lib.rs", version);
        let (text, code) = said(root, &["reset", "sum", "--yes"]);
        assert_eq!(code, Some(0));
        assert_eq!(file("exercises/01_sum/src/lib.rs"), WRONG);
        let folder = text.split_whitespace().find(|word| word.starts_with(".streamlings/kept/"));
        let folder = folder.expect("it says where").trim_end_matches(';').to_owned();
        assert_eq!(file(&format!("{folder}/lib.rs")), version, "{text}");
        kept.push(folder);
    }
    assert_eq!(file(&format!("{}/part.rs", kept[0])), b"//! A part.\n");
    assert!(!root.join("exercises/01_sum/src/part.rs").exists());
    kept.dedup();
    assert_eq!(kept.len(), 3);

    let (text, _) = said(root, &["reset", "sum", "--yes"]);
    assert_eq!(text, "01 sum is the starter already; nothing was changed.\n");
    let (text, _) = said(root, &["list"]);
    assert!(text.contains("01 sum       not checked  20"), "{text}");
}

#[test]
fn every_diagnosis_can_be_explained() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let (text, code) = said(&root, &["explain"]);
    assert_eq!(code, Some(0));
    for diagnosis in streamlings_grade::diagnosis::ALL {
        assert!(text.contains(diagnosis.code), "{diagnosis}");
    }
    // And each is found by its outcome, whose words need no quotes.
    for diagnosis in streamlings_grade::diagnosis::ALL {
        let words: Vec<&str> = diagnosis.outcome.word().split(' ').collect();
        let (text, code) = said(&root, &[&["explain"], &words[..]].concat());
        assert_eq!(code, Some(0), "{diagnosis}");
        assert!(text.contains(diagnosis.code), "{diagnosis}: {text}");
    }
    assert!(!said(&root, &["explain", "raced"]).0.contains("blocked-"));
    // What is both is explained, and the others are listed.
    let crashed = said(&root, &["explain", "crashed"]).0;
    assert!(crashed.contains("\n  next: ") && crashed.contains("\nover-limit  "), "{crashed}");
    let complaint = complaint(&root, &["explain", "same-event"]);
    let meant = "error: there is no diagnosis `same-event`; did you mean `same-event-twice`?\n";
    assert_eq!(complaint, meant);
    assert_eq!(said(&root, &["explain", "same-event"]).1, Some(2));
}

#[test]
fn bash_completes_the_commands_after_cargo_xtask() {
    let root = workspace(["exercises"], &[("sum", RIGHT)]);
    let (script, code) = said(root.path(), &["completions", "bash"]);
    assert_eq!(code, Some(0));
    write(root.path(), "script", script.as_bytes());
    let complete = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let program = format!(
            "source ./script; COMP_WORDS=({}''); COMP_CWORD={}; COMP_LINE='{line}'; \
             COMP_POINT={}; _streamlings_cargo cargo '{}' '{}'; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            line,
            words.len() - 1,
            line.len(),
            words[words.len() - 1],
            words[words.len() - 2],
        );
        let mut bash = Command::new("bash");
        bash.args(["--norc", "-c", &program]).current_dir(root.path());
        let output = bash.output().expect("bash runs");
        String::from_utf8(output.stdout).expect("it is UTF-8")
    };
    assert_eq!(complete("cargo xtask he"), "help\n");
    assert_eq!(complete("cargo xtask expl"), "explain\n");
    assert_eq!(complete("cargo xtask hint su"), "sum\n");
    assert_eq!(complete("cargo xtask explain pageable-c"), "pageable-copy\n");
    let options = complete("cargo xtask check --");
    assert!(options.contains("--format\n") && !options.contains("--workspace"), "{options}");
    let options = complete("cargo xtask reset --");
    assert!(options.contains("--yes\n") && !options.contains("--spoil"), "{options}");
}

#[test]
fn fish_completes_commands_options_and_names() {
    let root = workspace(["exercises"], &[("sum", RIGHT), ("product", RIGHT)]);
    let (script, code) = said(root.path(), &["completions", "fish"]);
    assert_eq!(code, Some(0));
    for name in ["sum", "product"] {
        let offered = script.lines().filter(|line| line.contains(&format!(" -a {name} ")));
        assert_eq!(offered.count(), 8, "{name} is offered by other commands");
    }
    write(root.path(), "script.fish", script.as_bytes());
    let complete = |line: &str| {
        let program = format!("source script.fish; complete -C '{line}'");
        let mut fish = Command::new("fish");
        let output = fish.args(["--no-config", "-c", &program]).current_dir(root.path()).output();
        output.ok().map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let Some(commands) = complete("cargo xtask ") else {
        println!("skipped: there is no fish");
        return;
    };
    assert!(commands.contains("explain\tExplains a diagnosis "), "{commands}");
    let names = complete("cargo xtask check ").unwrap_or_default();
    assert!(names.contains("sum\tan answer\n") && names.contains("product\t"), "{names}");
    let options = complete("cargo xtask check --").unwrap_or_default();
    assert!(options.contains("--format\t") && !options.contains("--findings-only"), "{options}");
    let formats = complete("cargo xtask check sum --format ju").unwrap_or_default();
    assert_eq!(formats, "junit\tJUnit XML\n");
}

/// Command lines up to the value of `--case`, and which cases are offered.
const CASES: [(&str, &str); 6] = [
    ("cargo xtask trace 2 --case ", "three four"),
    ("cargo xtask trace --seed 2 product --open --case t", "three"),
    ("cargo xtask trace exercises/01_sum/src/lib.rs --case ", "one two"),
    ("cargo xtask trace --seed=2 --solutions 1 --case ", "one two"),
    ("cargo xtask trace --case ", "one two three four"),
    ("cargo xtask trace 01_sum --case=t", "two"),
];

fn course_with_cases() -> tempfile::TempDir {
    let root = workspace(["exercises"], &[("sum", RIGHT), ("product", RIGHT)]);
    for (folder, cases) in [("01_sum", ["one", "two"]), ("02_product", ["three", "four"])] {
        let [first, second] = cases.map(|case| format!("{{case='{case}',diagnosis='hung'}}"));
        let text = format!("title = 'so'\nintended = [{first}, {second}]\n");
        write(root.path(), &format!("exercises/{folder}/exercise.toml"), text.as_bytes());
    }
    root
}

/// What was offered, in the order of the course.
fn offered(text: &str) -> String {
    // Fish offers a whole word, with the option before its `=`.
    let words = text.lines().map(|line| line.trim_start_matches("--case="));
    let mut words: Vec<&str> = words.collect();
    words
        .sort_by_key(|word| ["one", "two", "three", "four"].iter().position(|known| known == word));
    words.join(" ")
}

#[test]
fn bash_completes_the_cases_of_the_exercise_on_the_line() {
    let root = course_with_cases();
    write(root.path(), "script", said(root.path(), &["completions", "bash"]).0.as_bytes());
    for (line, cases) in CASES {
        // As readline splits it.
        let words = line.replace('=', " = ");
        let words: Vec<&str> = words.split(' ').collect();
        let [.., before, last] = words[..] else { panic!("{line}") };
        let program = format!(
            "source ./script; COMP_WORDS=({} '{last}'); COMP_CWORD={}; \
             _streamlings_cargo cargo '{last}' '{before}'; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            words[..words.len() - 1].join(" "),
            words.len() - 1,
        );
        let mut bash = Command::new("bash");
        let output = bash.args(["--norc", "-c", &program]).current_dir(root.path()).output();
        let output = output.expect("bash runs");
        assert_eq!(offered(&String::from_utf8_lossy(&output.stdout)), cases, "{line}: {output:?}");
    }
}

#[test]
fn fish_completes_the_cases_of_the_exercise_on_the_line() {
    let root = course_with_cases();
    write(root.path(), "script.fish", said(root.path(), &["completions", "fish"]).0.as_bytes());
    for (line, cases) in CASES {
        let program = format!("source script.fish; complete -C '{line}'");
        let mut fish = Command::new("fish");
        let fish = fish.args(["--no-config", "-c", &program]).current_dir(root.path());
        let Ok(output) = fish.output() else {
            println!("skipped: there is no fish");
            return;
        };
        assert_eq!(offered(&String::from_utf8_lossy(&output.stdout)), cases, "{line}: {output:?}");
    }
}

#[test]
fn zsh_completes_the_cases_of_the_exercise_on_the_line() {
    let root = course_with_cases();
    let script = said(root.path(), &["completions", "zsh"]).0;
    assert_eq!(script.matches(":CASE:_streamlings_case'").count(), 1, "{script}");
    write(root.path(), "script.zsh", script.as_bytes());
    for (line, cases) in CASES {
        let (words, begun) = line.rsplit_once([' ', '=']).expect("it has words");
        // What zsh does of itself: it has the words behind the command, and drops what does not fit.
        let program = format!(
            "compdef() {{}}; compadd() {{ print -rl -- ${{(M)cases:#$begun*}} }}; source ./script.zsh; \
             begun='{begun}'; words=({} '{begun}'); _streamlings_case",
            words.trim_start_matches("cargo xtask ")
        );
        let mut zsh = Command::new("zsh");
        let zsh = zsh.args(["-f", "-c", &program]).current_dir(root.path());
        let Ok(output) = zsh.output() else {
            println!("skipped: there is no zsh");
            return;
        };
        assert_eq!(offered(&String::from_utf8_lossy(&output.stdout)), cases, "{line}: {output:?}");
    }
}

#[test]
fn zsh_is_offered_names_and_nothing_that_is_hidden() {
    let root = workspace(["exercises"], &[("sum", RIGHT)]);
    let (script, code) = said(root.path(), &["completions", "zsh"]);
    assert_eq!(code, Some(0));
    assert!(script.starts_with("#compdef cargo-xtask\n"), "{script}");
    assert_eq!(script.matches("((sum\\:\"an answer\"").count(), 8);
    // Options are offered behind a name, too.
    assert!(script.contains("\n'*:names -- ") && !script.contains("\n'*::"), "{script}");
    for hidden in ["--workspace", "--findings-only"] {
        assert!(!script.contains(&format!("'{hidden}")), "{hidden} is offered");
    }
}

/// A machine that lacks the toolchain hears of that, and of all the rest.
#[test]
fn a_doctor_without_cargo_looks_at_the_rest() {
    let root = workspace(["exercises"], &[("sum", RIGHT)]);
    let output = crate::workspace::command(root.path(), &["doctor"])
        .env("PATH", root.path())
        .env_remove("CARGO")
        .output()
        .expect("xtask runs");
    let text = String::from_utf8(output.stdout).expect("it is UTF-8");
    for line in ["-- rustc", "-- cargo", "-- linker"] {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert!(!text.contains("-- workspace") && !text.contains("-- build"), "{text}");
    assert!(text.contains("GPU"), "{text}");
    assert_eq!(output.status.code(), Some(1), "{text}");
}
