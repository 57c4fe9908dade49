//! Wrong variants of exercise 01, each with the diagnosis that it must get.

streamlings::grade::mutants! {
    cases: "../../../exercises/01_async_launch/tests/cases.rs";
    sync_first "sync_first.rs": "enqueue_and_wait" => BLOCKED_BEFORE_FIRST_READING;
    never_waits "never_waits.rs":
        "enqueue_and_wait" => LAUNCH_NOT_WAITED_FOR,
        "overlap_host_work" => RETURNED_BEFORE_DONE;
    waits_twice "waits_twice.rs": "enqueue_and_wait" => WAITED_TOO_OFTEN;
    constant_times "constant_times.rs": "enqueue_and_wait" => FIGURE_DISAGREES_WITH_RECORD;
    closure_first "closure_first.rs": "overlap_host_work" => CLOSURE_BEFORE_LAUNCH;
    closure_last "closure_last.rs": "overlap_host_work" => CLOSURE_AFTER_WAIT;
    sleeps_beside "sleeps_beside.rs": "overlap_host_work" => KERNEL_TOO_SHORT;
    waits_elsewhere "waits_elsewhere.rs":
        "enqueue_and_wait" => LAUNCH_NOT_WAITED_FOR,
        "overlap_host_work" => RETURNED_BEFORE_DONE;
    polls "polls.rs":
        "enqueue_and_wait" => HOST_POLLS,
        "overlap_host_work" => CLOSURE_AFTER_WAIT;
    sleeps "sleeps.rs":
        "enqueue_and_wait" => LAUNCH_NOT_WAITED_FOR,
        "overlap_host_work" => CLOSURE_AFTER_WAIT;
    reads_before "reads_before.rs": "enqueue_and_wait" => FIGURE_DISAGREES_WITH_RECORD;
    reads_late "reads_late.rs":
        "enqueue_and_wait" => FIGURE_DISAGREES_WITH_RECORD,
        "overlap_host_work" => CLOSURE_AFTER_WAIT;
    own_stream "own_stream.rs":
        "enqueue_and_wait" => ON_ANOTHER_STREAM,
        "overlap_host_work" => ON_ANOTHER_STREAM;
    looks_at_addresses "looks_at_addresses.rs":
        "which_launch_failed_middle" => LAUNCH_LEFT_OUT,
        "which_launch_failed_last" => LAUNCH_LEFT_OUT,
        "which_launch_failed_none" => LAUNCH_LEFT_OUT;
    launches_and_guesses "launches_and_guesses.rs":
        "which_launch_failed_first" => FAULT_NOT_SEEN,
        "which_launch_failed_last" => FAULT_NOT_SEEN;
    blames_the_reporter "blames_the_reporter.rs":
        "which_launch_failed_first" => BLAMED_THE_REPORTING_CALL,
        "which_launch_failed_middle" => BLAMED_THE_REPORTING_CALL;
    blames_the_first "blames_the_first.rs":
        "which_launch_failed_middle" => WRONG_LAUNCH_BLAMED,
        "which_launch_failed_last" => WRONG_LAUNCH_BLAMED,
        "which_launch_failed_none" => WRONG_LAUNCH_BLAMED;
}
