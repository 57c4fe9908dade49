//! Wrong variants of exercise 02, each with the diagnosis that it must get.

streamlings::grade::mutants! {
    cases: "../../../exercises/02_event_timing/tests/cases.rs";
    events_elsewhere "events_elsewhere.rs":
        "time_with_events" => EVENTS_ON_ANOTHER_STREAM,
        "two_way" => EVENTS_ON_ANOTHER_STREAM;
    events_first "events_first.rs": "time_with_events" => EVENTS_BEFORE_THE_LAUNCH;
    events_last "events_last.rs": "time_with_events" => EVENTS_AFTER_THE_LAUNCH;
    same_event "same_event.rs": "time_with_events" => SAME_EVENT_TWICE;
    not_waited_for "not_waited_for.rs":
        "time_with_events" => READ_WITHOUT_WAITING,
        "two_way" => READ_WITHOUT_WAITING;
    without_timing "without_timing.rs": "time_with_events" => EVENT_WITHOUT_TIMING;
    warm_up_inside "warm_up_inside.rs":
        "time_with_events" => WARM_UP_INSIDE,
        "time_bare_clock" => WARM_UP_INSIDE,
        "time_synchronized" => WARM_UP_INSIDE;
    download_inside "download_inside.rs":
        "time_with_events" => PAIR_BRACKETS_MORE,
        "time_bare_clock" => BLOCKED_INSIDE_BARE_REGION,
        "two_way" => BLOCKED_INSIDE_BARE_REGION;
    constant "constant.rs":
        "time_with_events" => CONSTANT_FIGURE,
        "time_bare_clock" => CONSTANT_FIGURE,
        "time_synchronized" => FIGURE_DISAGREES_WITH_RECORD;
    wall_clock "wall_clock.rs": "time_with_events" => WALL_CLOCK_AS_EVENT_TIME;
    side_stream "side_stream.rs": "time_with_events" => PAIR_BRACKETS_NOTHING;
    two_products "two_products.rs": "two_way" => PAIR_BRACKETS_MORE;
    waits_inside "waits_inside.rs": "time_with_events" => IDLE_INSIDE_THE_PAIR;
    sleeps_inside "sleeps_inside.rs":
        "time_with_events" => IDLE_INSIDE_THE_PAIR,
        "two_way" => IDLE_INSIDE_THE_PAIR;
    made_up "made_up.rs":
        "time_bare_clock" => FIGURE_DISAGREES_WITH_RECORD,
        "time_synchronized" => NOT_SYNCHRONIZED,
        "two_way" => FIGURE_DISAGREES_WITH_RECORD;
    polls_inside "polls_inside.rs": "time_bare_clock" => HOST_POLLS;
    not_a_number "not_a_number.rs": "two_way" => FIGURE_DISAGREES_WITH_RECORD;
    own_stream "own_stream.rs":
        "time_with_events" => ON_ANOTHER_STREAM,
        "two_way" => ON_ANOTHER_STREAM;
    clock_before "clock_before.rs": "time_bare_clock" => FIGURE_DISAGREES_WITH_RECORD;
    warm_up_pending "warm_up_pending.rs": "time_synchronized" => WARM_UP_INSIDE;
    warm_up_timed "warm_up_timed.rs":
        "time_bare_clock" => BLOCKED_INSIDE_BARE_REGION,
        "time_synchronized" => WARM_UP_INSIDE;
    events_as_clock "events_as_clock.rs": "time_synchronized" => EVENT_TIME_AS_WALL_CLOCK;
    waits_elsewhere "waits_elsewhere.rs": "time_synchronized" => NOT_SYNCHRONIZED;
}
