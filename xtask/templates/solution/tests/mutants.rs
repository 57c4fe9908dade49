//! Wrong variants of exercise __NN__, each with the diagnosis that it must get.

// GAP: a mutant for each mistake that the cases tell apart.
streamlings::grade::mutants! {
    cases: "../../../exercises/__FOLDER__/tests/cases.rs";
    waits_twice "waits_twice.rs": "run_and_wait" => WAITED_TOO_OFTEN;
}
