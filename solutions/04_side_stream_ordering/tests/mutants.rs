//! Wrong variants of exercise 04, each with the diagnosis that it must get.

streamlings::grade::mutants! {
    cases: "../../../exercises/04_side_stream_ordering/tests/cases.rs";
    wrong_way_round "wrong_way_round.rs": "sum_on_side_stream" => WAIT_WRONG_WAY_ROUND;
    recorded_early "recorded_early.rs":
        "sum_on_side_stream" => RECORDED_TOO_EARLY,
        "fan_out_fan_in" => RECORDED_TOO_EARLY;
    recorded_again "recorded_again.rs": "sum_on_side_stream" => RECORDED_AGAIN;
    waits_late "waits_late.rs":
        "sum_on_side_stream" => WAITED_TOO_LATE,
        "fan_out_fan_in" => WAITED_TOO_LATE;
    waits_for_itself "waits_for_itself.rs": "sum_on_side_stream" => MISSING_WAIT;
    third_stream "third_stream.rs": "sum_on_side_stream" => MISSING_WAIT;
    waits_both_ways "waits_both_ways.rs":
        "sum_on_side_stream" => ORDERED_WITHOUT_NEED,
        "consume_and_drop" => ORDERED_WITHOUT_NEED;
    all_on_default "all_on_default.rs":
        "sum_on_side_stream" => ALL_ON_ONE_STREAM,
        "consume_and_drop" => ALL_ON_ONE_STREAM,
        "fan_out_fan_in" => ALL_ON_ONE_STREAM;
    all_on_side "all_on_side.rs": "sum_on_side_stream" => ALL_ON_ONE_STREAM;
    context_sync "context_sync.rs":
        "sum_on_side_stream" => DEVICE_WIDE_SYNC,
        "consume_and_drop" => DEVICE_WIDE_SYNC,
        "fan_out_fan_in" => DEVICE_WIDE_SYNC;
    host_waits "host_waits.rs":
        "sum_on_side_stream" => HOST_HELD,
        "consume_and_drop" => HOST_HELD,
        "fan_out_fan_in" => HOST_HELD;
    polls "polls.rs": "sum_on_side_stream" => HOST_POLLS;
    works_it_out "works_it_out.rs":
        "sum_on_side_stream" => NOT_LAUNCHED_ON_IT,
        "fan_out_fan_in" => NOT_LAUNCHED_ON_IT;
    throws_away "throws_away.rs":
        "sum_on_side_stream" => NOT_LAUNCHED_ON_IT,
        "consume_and_drop" => NOT_LAUNCHED_ON_IT,
        "fan_out_fan_in" => NOT_LAUNCHED_ON_IT;
    records_producer "records_producer.rs": "consume_and_drop" => REUSE_BEFORE_RECORD;
    records_third "records_third.rs": "consume_and_drop" => REUSE_BEFORE_RECORD;
    leaks "leaks.rs": "consume_and_drop" => NOT_HANDED_BACK;
    keeps "keeps.rs": "consume_and_drop" => NOT_HANDED_BACK;
    keeps_until_next "keeps_until_next.rs": "consume_and_drop" => NOT_HANDED_BACK;
    first_reader_only "first_reader_only.rs": "fan_out_fan_in" => MISSING_WAIT;
    one_reader_waits "one_reader_waits.rs": "fan_out_fan_in" => MISSING_WAIT;
    chained_readers "chained_readers.rs": "fan_out_fan_in" => ORDERED_WITHOUT_NEED;
    readers_share "readers_share.rs": "fan_out_fan_in" => ON_ANOTHER_STREAM;
    readers_swapped "readers_swapped.rs": "fan_out_fan_in" => ON_ANOTHER_STREAM;
    never_refills "never_refills.rs": "fan_out_fan_in" => NOT_LAUNCHED_ON_IT;
    swapped "swapped.rs": "fan_out_fan_in" => WRONG_VALUE;
}
