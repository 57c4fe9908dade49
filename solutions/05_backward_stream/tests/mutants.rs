//! Wrong variants of exercise 05, each with the diagnosis that it must get.

streamlings::grade::mutants! {
    cases: "../../../exercises/05_backward_stream/tests/cases.rs";
    waits_before_backward "waits_before_backward.rs": "train_step" => RECORDED_TOO_EARLY;
    wrong_stream_waits "wrong_stream_waits.rs":
        "train_step" => WAIT_WRONG_WAY_ROUND,
        "norms_then_zero" => WAIT_WRONG_WAY_ROUND;
    waits_for_another "waits_for_another.rs":
        "train_step" => MISSING_WAIT,
        "norms_then_zero" => MISSING_WAIT;
    batch_not_waited_for "batch_not_waited_for.rs":
        "train_step" => MISSING_WAIT,
        "norms_then_zero" => MISSING_WAIT;
    host_waits "host_waits.rs":
        "train_step" => HOST_HELD,
        "two_branches" => HOST_HELD,
        "norms_then_zero" => HOST_HELD;
    reads_the_loss "reads_the_loss.rs": "train_step" => HOST_HELD;
    device_sync "device_sync.rs":
        "train_step" => DEVICE_WIDE_SYNC,
        "two_branches" => DEVICE_WIDE_SYNC,
        "norms_then_zero" => DEVICE_WIDE_SYNC;
    all_on_default "all_on_default.rs":
        "train_step" => ALL_ON_ONE_STREAM,
        "two_branches" => ALL_ON_ONE_STREAM,
        "norms_then_zero" => ALL_ON_ONE_STREAM;
    all_on_side "all_on_side.rs":
        "train_step" => ALL_ON_ONE_STREAM,
        "norms_then_zero" => ALL_ON_ONE_STREAM;
    no_backward "no_backward.rs":
        "train_step" => WRONG_VALUE,
        "two_branches" => WRONG_VALUE;
    steps_the_other_way "steps_the_other_way.rs": "train_step" => WRONG_VALUE;
    one_branch_waited_for "one_branch_waited_for.rs": "two_branches" => MISSING_WAIT;
    one_branch_waits "one_branch_waits.rs": "two_branches" => MISSING_WAIT;
    branches_chained "branches_chained.rs": "two_branches" => ORDERED_WITHOUT_NEED;
    branches_share "branches_share.rs": "two_branches" => ALL_ON_ONE_STREAM;
    calls_backward_on_a_branch "calls_backward_on_a_branch.rs": "two_branches" => RECORDED_TOO_EARLY;
    waits_late "waits_late.rs": "norms_then_zero" => WAITED_TOO_LATE;
    recorded_early "recorded_early.rs": "norms_then_zero" => RECORDED_TOO_EARLY;
    zeroes_first "zeroes_first.rs": "norms_then_zero" => WRONG_VALUE;
    never_zeroes "never_zeroes.rs": "norms_then_zero" => WRONG_VALUE;
    dropped_third "dropped_third.rs": "norms_then_zero" => REUSE_BEFORE_RECORD;
    dropped_not_recorded "dropped_not_recorded.rs": "norms_then_zero" => REUSE_BEFORE_RECORD;
}
