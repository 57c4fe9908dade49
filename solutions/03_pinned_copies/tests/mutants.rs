//! Variants of exercise 03: the wrong ones with the diagnosis that they must get, the right ones pass.

streamlings::grade::mutants! {
    cases: "../../../exercises/03_pinned_copies/tests/cases.rs";
    large_only "large_only.rs": "upload_small" => PAGEABLE_BY_LUCK;
    not_kept "not_kept.rs":
        "upload_small" => FREED_DURING_COPY,
        "upload_large" => FREED_DURING_COPY,
        "upload_small_cust" => FREED_DURING_COPY;
    leaks "leaks.rs":
        "upload_small" => PINNED_LEAKED,
        "upload_small_cust" => PINNED_LEAKED,
        "pipeline" => PINNED_LEAKED;
    one_for_all "one_for_all.rs":
        "upload_small" => REFILLED_DURING_COPY,
        "download" => READ_BEFORE_READY;
    drops_on_a_thread "drops_on_a_thread.rs": "upload_small" => FREED_DURING_COPY;
    pageable "pageable.rs":
        "upload_small_cust" => PAGEABLE_BY_LUCK,
        "upload_large_cust" => PAGEABLE_COPY,
        "download_cust" => PAGEABLE_COPY;
    waits_inside "waits_inside.rs":
        "upload_small" => HOST_HELD,
        "download" => HOST_HELD;
    waits_on_a_thread "waits_on_a_thread.rs":
        "upload_small" => HOST_HELD,
        "download" => HOST_HELD;
    polls "polls.rs":
        "upload_small" => HOST_POLLS,
        "download" => HOST_POLLS;
    read_at_once "read_at_once.rs":
        "download" => READ_BEFORE_READY,
        "download_cust" => READ_BEFORE_READY;
    event_before_copy "event_before_copy.rs": "download" => READ_BEFORE_READY;
    stream_wait "stream_wait.rs": "download" => WAITED_FOR_THE_STREAM;
    copies_late "copies_late.rs": "download" => COPY_NOT_STARTED;
    refilled "refilled.rs": "pipeline" => REFILLED_DURING_COPY;
    never_waits "never_waits.rs": "pipeline" => READ_BEFORE_READY;
    read_early "read_early.rs": "pipeline" => READ_BEFORE_READY;
    pinned_in_loop "pinned_in_loop.rs": "pipeline" => PINNED_INSIDE_THE_LOOP;
    pageable_batches "pageable_batches.rs": "pipeline" => PAGEABLE_BY_LUCK;
    one_stream "one_stream.rs": "pipeline" => COPY_AND_COMPUTE_ON_ONE_STREAM;
    waits_for_each "waits_for_each.rs": "pipeline" => SYNC_AFTER_EACH_BATCH;
    waits_for_pairs "waits_for_pairs.rs": "pipeline" => LITTLE_OVERLAP;
    first_batch_only "first_batch_only.rs": "pipeline" => BATCH_LEFT_OUT;
    polls_the_stream "polls_the_stream.rs": "download" => WAITED_FOR_THE_STREAM;
    on_threads "on_threads.rs":
        "upload_small" => PASSES,
        "upload_large" => PASSES,
        "download" => PASSES,
        "pipeline" => PASSES;
    ring "ring.rs":
        "upload_small" => PASSES,
        "upload_large" => PASSES;
    swapped "swapped.rs": "pipeline" => WRONG_VALUE;
}
