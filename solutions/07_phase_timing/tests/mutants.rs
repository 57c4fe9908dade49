//! Wrong variants of exercise 07, each with the diagnosis that it must get.

streamlings::grade::mutants! {
    cases: "../../../exercises/07_phase_timing/tests/cases.rs";
    bare_clock "bare_clock.rs":
        "phases" => BARE_CLOCK_AS_KERNEL_TIME,
        "whole" => FIGURE_DISAGREES_WITH_RECORD,
        "timeline" => BEGINNING_NOT_ASKED;
    waits_for_each "waits_for_each.rs":
        "training" => STREAMS_SERIALIZED,
        "unblocked" => BLOCKED_BETWEEN_EVENTS;
    polls "polls.rs":
        "training" => STREAMS_SERIALIZED,
        "unblocked" => HOST_POLLS;
    backward_twice "backward_twice.rs": "training" => TENSOR_REFUSED;
    waits_for_steps "waits_for_steps.rs":
        "training" => STREAMS_SERIALIZED,
        "unblocked" => BLOCKED_BETWEEN_EVENTS;
    wait_inside "wait_inside.rs": "phases" => WAIT_INSIDE_THE_PHASE;
    events_elsewhere "events_elsewhere.rs": "phases" => EVENTS_ON_ANOTHER_STREAM;
    ends_late "ends_late.rs": "phases" => PHASE_BOUNDARY;
    untimed "untimed.rs": "phases" => EVENT_WITHOUT_TIMING;
    read_at_once "read_at_once.rs": "phases" => READ_WITHOUT_WAITING;
    one_stream "one_stream.rs": "training" => STREAMS_SERIALIZED;
    upload_waits "upload_waits.rs": "training" => STREAMS_SERIALIZED;
    no_wait "no_wait.rs": "training" => UNORDERED_ACCESS;
    constant "constant.rs":
        "phases" => FIGURE_DISAGREES_WITH_RECORD,
        "timeline" => BEGINNING_NOT_ASKED;
    leaves_one_out "leaves_one_out.rs": "phases" => PHASE_BOUNDARY;
    added_up "added_up.rs": "whole" => PHASES_ADDED_UP;
    end_to_end "end_to_end.rs": "timeline" => TIMELINE_DISAGREES;
    last_phase_only "last_phase_only.rs": "whole" => FIGURE_DISAGREES_WITH_RECORD;
    one_row "one_row.rs": "timeline" => TIMELINE_INCOMPLETE;
    milliseconds "milliseconds.rs": "timeline" => TIMELINE_INCOMPLETE;
    sums_in_table "sums_in_table.rs": "whole" => WRONG_VALUE;
}
