//! Wrong variants of exercise 06, each with the diagnosis that it must get.

streamlings::grade::mutants! {
    cases: "../../../exercises/06_accidental_syncs/tests/cases.rs";
    prints_the_loss "prints_the_loss.rs": "train_loop" => HIDDEN_SYNC;
    decides_on_the_host "decides_on_the_host.rs": "train_loop" => HIDDEN_SYNC;
    boolean_mask "boolean_mask.rs": "train_loop" => HIDDEN_SYNC;
    pageable_batch "pageable_batch.rs": "train_loop" => HIDDEN_SYNC;
    metric_to_host "metric_to_host.rs": "train_loop" => HIDDEN_SYNC;
    pageable_by_luck "pageable_by_luck.rs": "train_loop" => PAGEABLE_BY_LUCK;
    sync_between_laps "sync_between_laps.rs": "train_loop" => SYNC_OUTSIDE_THE_CLOCK;
    sync_between_some_laps "sync_between_some_laps.rs": "train_loop" => SYNC_OUTSIDE_THE_CLOCK;
    polls "polls.rs": "train_loop" => HOST_POLLS;
    polls_between_laps "polls_between_laps.rs": "train_loop" => HOST_POLLS;
    waits_on_a_thread "waits_on_a_thread.rs": "train_loop" => HIDDEN_SYNC;
    empty_laps "empty_laps.rs": "train_loop" => WORK_OUTSIDE_THE_CLOCK;
    one_lap "one_lap.rs": "train_loop" => WORK_OUTSIDE_THE_CLOCK;
    refilled "refilled.rs": "train_loop" => REFILLED_DURING_COPY;
    no_limit "no_limit.rs": "train_loop" => WRONG_VALUE;
    stops_at_bad "stops_at_bad.rs": "train_loop" => WRONG_VALUE;
    leaves_one_out "leaves_one_out.rs": "train_loop" => WRONG_VALUE;
    all_marked "all_marked.rs": "snippets" => MARKED_WITHOUT_SYNC;
    none_marked "none_marked.rs": "snippets" => SYNC_NOT_MARKED;
    one_missing "one_missing.rs": "snippets" => SYNC_NOT_MARKED;
    look_alike_marked "look_alike_marked.rs": "snippets" => MARKED_WITHOUT_SYNC;
    misspelt "misspelt.rs": "snippets" => NOT_A_MARK;
    on_its_own_line "on_its_own_line.rs": "snippets" => NOT_A_MARK;
    line_removed "line_removed.rs": "snippets" => SNIPPET_CHANGED;
    other_format "other_format.rs": "snippets" => SNIPPET_CHANGED;
    snippet_replaced "snippet_replaced.rs": "snippets" => SNIPPET_CHANGED;
}
