//! Every diagnosis, by exercise; what its parts have to be is told one level up.

use super::{Diagnosis, pages};
use crate::outcome::Outcome;

diagnoses! {
    // How a process can end, whatever the exercise.

    NOT_DONE "not-done" NotDone: "not written yet"
        rule: "A body of `todo!()` compiles, and panics when it is called."
        next: "Read the exercise's README.md and write the function's body."

    NOT_HANDED_IN "not-handed-in" NotDone: "the submission has no sources for this exercise"
        rule: "A submission holds the src/ folder of each exercise, as in the workspace."
        next: "Hand in exercises/, or the src/ of this exercise in a folder of its name."

    FUNCTION_MISSING "function-missing" NotDone: "a function that is graded is not there"
        rule: "The grading cases call the exercise's functions by name, with the signatures of the starter."
        next: "Put it back as README.md shows it. `cargo xtask reset` gives you the starter, and keeps your code in a folder."

    SOURCE_MISSING "source-missing" DoesNotCompile: "the exercise's source is not there"
        rule: "What is graded is src/lib.rs and the files beside it."
        next: "`cargo xtask reset` with the exercise's number puts the starter back; nothing that is there is lost."

    DOES_NOT_COMPILE "does-not-compile" DoesNotCompile: "rustc rejected the code"
        rule: "Only code that compiles can be run, so nothing else was judged."
        next: "Start with rustc's first error; the later ones often follow from it."

    SIGNATURE_CHANGED "signature-changed" DoesNotCompile: "a signature that is graded was changed"
        rule: "The grading cases call the exercise's functions by name, with the signatures of the starter."
        next: "Compare your signatures with those in README.md; the bodies are yours, the signatures are not."

    PANICKED "panicked" Crashed: "the code panicked"
        rule: "A panic ends the function without a result."
        next: "Look at the line that panicked: an `unwrap` on a driver error says which call failed."

    CRASHED "crashed" Crashed: "the process died"
        rule: "A signal ends the whole process at once; the driver never got to finish its work."
        next: "Look for a raw pointer that outlives its memory, a device pointer followed on the host, or endless recursion."

    OVER_LIMIT "over-limit" Crashed: "the process went over its limits"
        rule: "A case may take only so much memory, so many processes, and write only so much."
        next: "Look for a loop that prints, allocates or starts something without end."

    REFUSED "refused" Refused: "the sources were not taken"
        rule: "Only plain Rust files in src/ are taken, without links and without what runs before the grader."
        next: "Take out what is named above, and hand it in again."

    HUNG "hung" Hung: "the case was still running at its time limit"
        rule: "A wait or a loop that nothing will ever end holds the host for good."
        next: "Look for a loop on a condition that never comes true, or a wait for work that never ends."

    NO_VERDICT "no-verdict" NoVerdict: "the process ended without a verdict"
        rule: "Only the grader's verdict counts: not what the process prints, nor its exit status."
        next: "Remove the call that ends the process (`std::process::exit`), and return instead."

    NO_DEVICE "no-device" NoDevice: "there is no device to run on"
        rule: "`--device gpu` takes a GPU and nothing else."
        next: "Mend what is named above, or use `--device emulated`."

    GRADER_PANICKED "grader-panicked" GraderError: "the grading case itself failed"
        rule: "This is a fault of the exercise's cases, not of your code."
        next: "Please report it, with the message and the seed."

    SETUP_FAILED "setup-failed" GraderError: "the grading case could not do its own part"
        rule: "This is a fault of the machine or of the exercise's cases, not of your code."
        next: "See whether the device works at all, with `cargo xtask check --solutions`."

    RETURNED_ERROR "returned-error" Wrong: "the function returned an error"
        rule: "A driver call reports what is wrong with it, or what went wrong before it."
        next: "Find which of your calls returned that error, and what its documentation says of it."

    TENSOR_REFUSED "tensor-refused" Wrong: "an operation on tensors was refused"
        rule: "An operation is refused if its tensors do not fit it, or if what it needs is not there any more."
        next: "Read the error: it names the operation, and what is wrong with what it was given."

    LEFT_AN_ERROR "left-an-error" Wrong: "the code left the device in a state that nobody can use"
        rule: "A fault of a launch shows at a later call; without its context, no call works any more."
        next: "End the function with a synchronize, for a try, and see what that returns and which call is to blame."
        [docs: pages::ASYNCHRONOUS]

    WRONG_VALUE "wrong-value" Wrong: "a value is not right"
        rule: "The result has to be right for every size and seed."
        next: "Try the function on an input small enough to work out by hand."

    // Exercise 01: launches enqueue, they do not execute.

    BLOCKED_BEFORE_FIRST_READING "blocked-before-first-reading" Blocked:
        "the host was held before the first reading"
        rule: "A launch only enqueues: the reading that shows it has to come before any call that waits."
        next: "Look at what stands between the launch and the first reading of the clock."
        [docs: pages::ASYNCHRONOUS]

    LAUNCH_NOT_WAITED_FOR "launch-not-waited-for" MisTimed:
        "the second reading was taken without a wait for the kernel"
        rule: "A kernel is done when a synchronize after it has returned, not when the launch has."
        next: "Ask yourself which call tells the host that the kernel has ended."
        [docs: pages::ASYNCHRONOUS]

    NOTHING_LAUNCHED "nothing-launched" Wrong: "the driver saw no launch"
        rule: "What is graded is what the driver was asked to do."
        next: "Launch the kernel that README.md names, on the stream that the function is given."

    NOT_LAUNCHED_ON_IT "not-launched-on-it" Wrong: "no launch does that to the tensor"
        rule: "What is graded is what the driver was asked to do with the tensor's own memory."
        next: "See in README.md what is to be done to which tensor, and on which tensor your code does it."

    WAITED_TOO_OFTEN "waited-too-often" Blocked: "the host was held more than once"
        rule: "Each wait that the host makes is a gap in which it enqueues nothing."
        next: "Count the calls that can wait, and keep the one that is needed."
        [docs: pages::ASYNCHRONOUS]

    FIGURE_DISAGREES_WITH_RECORD "figure-disagrees-with-record" Wrong:
        "a figure is not what the driver recorded"
        rule: "A reported time has to be that of this very run."
        next: "Compare the two figures above, and see which two readings would give the recorded one."

    KERNEL_TOO_SHORT "kernel-too-short" Wrong: "the kernel did not run for as long as it was to"
        rule: "The work has to be the device's own: waiting beside it is not the same."
        next: "Compare what the launch passes to the kernel with what the function was given."

    CLOSURE_AFTER_WAIT "closure-after-wait" Serialized: "the closure ran when the kernel had ended"
        rule: "Host work overlaps device work only between the launch and the wait."
        next: "Look at the order of the three: launch, closure, wait."
        [docs: pages::ASYNCHRONOUS]

    CLOSURE_BEFORE_LAUNCH "closure-before-launch" Serialized:
        "the closure ran before the kernel was launched"
        rule: "Host work overlaps device work only between the launch and the wait."
        next: "Look at the order of the three: launch, closure, wait."
        [docs: pages::ASYNCHRONOUS]

    CLOSURE_NOT_RUN "closure-not-run" Wrong: "the closure did not run exactly once"
        rule: "The host work is part of the task."
        next: "Call the closure once, and return what it returns."

    RETURNED_BEFORE_DONE "returned-before-done" Wrong: "the function returned without a wait for the kernel"
        rule: "Who returns before the device is done leaves the waiting to the caller."
        next: "Ask yourself which call tells the host that the kernel has ended."
        [docs: pages::ASYNCHRONOUS]

    LAUNCH_LEFT_OUT "launch-left-out" Wrong: "not every launch was made"
        rule: "Whether a kernel faults shows when it runs, and not in the address that it is given."
        next: "Launch `poke` for each address in order, until the device has told of a fault."

    WRONG_LAUNCH_BLAMED "wrong-launch-blamed" Wrong: "another launch is the one that faulted"
        rule: "A fault surfaces at a later call; only a wait after each launch ties it to one."
        next: "Find out after which launch the first error can be seen, when you wait after each."
        [docs: pages::PYTORCH_ASYNCHRONOUS]

    FAULT_NOT_SEEN "fault-not-seen" Wrong: "one launch faulted, and nobody noticed"
        rule: "A launch returns before its kernel runs, so its own result says nothing of the kernel."
        next: "Ask yourself by which call, at the latest, the driver has to tell of the fault."
        [docs: pages::PYTORCH_ASYNCHRONOUS]

    BLAMED_THE_REPORTING_CALL "blamed-the-reporting-call" Wrong:
        "that is the call that reported the fault, not the launch that caused it"
        rule: "A launch returns before its kernel runs, so its own result says nothing of the kernel."
        next: "Run it with CUDA_LAUNCH_BLOCKING=1 and see which call reports the fault then."
        [docs: pages::PYTORCH_ASYNCHRONOUS]

    // Exercise 02: two-way timing.

    BARE_CLOCK_AS_KERNEL_TIME "bare-clock-as-kernel-time" MisTimed:
        "a bare clock was reported as the kernel's time"
        rule: "A host clock around a launch times the enqueueing, not the kernel."
        next: "Find something that the device itself writes down when it reaches it."
        [docs: pages::PYTORCH_ASYNCHRONOUS]

    WALL_CLOCK_AS_EVENT_TIME "wall-clock-as-event-time" MisTimed:
        "a host clock was reported as the event time"
        rule: "An event time is the difference of two events on the device's clock."
        next: "Look for the driver's call that gives the time between two events."
        [docs: pages::EVENTS]

    EVENT_TIME_AS_WALL_CLOCK "event-time-as-wall-clock" MisTimed:
        "a pair of events was reported as what a host clock reads"
        rule: "Events give the device's time; a host clock also shows the launch and the wait for it."
        next: "Read a host clock before the launch, and again when the host knows that the work is done."
        [docs: pages::PYTORCH_ASYNCHRONOUS]

    EVENTS_ON_ANOTHER_STREAM "events-on-another-stream" MisTimed:
        "the events were recorded on another stream than the kernel's"
        rule: "An event is passed when the work before it on its own stream is done."
        next: "Compare the stream of each event with the stream of the launch."
        [docs: pages::EVENTS]

    EVENTS_BEFORE_THE_LAUNCH "events-before-the-launch" MisTimed:
        "both events were recorded before the launch"
        rule: "An event pair times what was enqueued between its two records."
        next: "Look at the order of the three: start, launch, end."
        [docs: pages::EVENTS]

    EVENTS_AFTER_THE_LAUNCH "events-after-the-launch" MisTimed:
        "both events were recorded after the launch"
        rule: "An event pair times what was enqueued between its two records."
        next: "Look at the order of the three: start, launch, end."
        [docs: pages::EVENTS]

    PAIR_BRACKETS_NOTHING "pair-brackets-nothing" MisTimed: "there is no work between the two events"
        rule: "An event pair times what was enqueued between its two records, on their stream."
        next: "See which stream the product was launched on."
        [docs: pages::EVENTS]

    PAIR_BRACKETS_MORE "pair-brackets-more" MisTimed: "the event pair stands around more than the product"
        rule: "Whatever is enqueued between the two records is part of their time."
        next: "See what else is enqueued between the two events, and whether it has to be."
        [docs: pages::EVENTS]

    IDLE_INSIDE_THE_PAIR "idle-inside-the-pair" MisTimed: "the event pair also times an idle device"
        rule: "Between two records the device's clock runs on, whether the device has work or not."
        next: "Look at what the host does between the two records besides the launch."
        [docs: pages::EVENTS]

    SAME_EVENT_TWICE "same-event-twice" MisTimed: "start and end are the same event"
        rule: "Recording an event again replaces its earlier record."
        next: "Count the events that a time between two points needs."
        [docs: pages::EVENTS]

    READ_WITHOUT_WAITING "read-without-waiting" MisTimed: "the event time was read before the end was passed"
        rule: "The time between two events exists only once both have been passed."
        next: "Ask yourself what has to have happened on the device before the driver can answer."
        [docs: pages::EVENTS]

    EVENT_WITHOUT_TIMING "event-without-timing" MisTimed: "an event was made without timing"
        rule: "Only an event made for timing has a time; CU_EVENT_DISABLE_TIMING, cudarc's default, has none."
        next: "Look at the flags that the events were made with."
        [docs: pages::EVENTS]

    WARM_UP_INSIDE "warm-up-inside" MisTimed: "the timed region holds the warm-up"
        rule: "Loading a module and the first launch of a kernel cost time once, and are not the kernel's."
        next: "See what is done for the first time, or still under way, between the two readings."

    BLOCKED_INSIDE_BARE_REGION "blocked-inside-bare-region" Blocked:
        "the host was held between the two readings of the bare clock"
        rule: "A call that waits makes the clock around it a measure of the wait."
        next: "Look at what stands between the two readings besides the launch."
        [docs: pages::ASYNCHRONOUS]

    NOT_SYNCHRONIZED "not-synchronized" MisTimed: "the clock was read before the kernel had ended"
        rule: "A host clock times a kernel only if a synchronize stands before the second reading."
        next: "See what the host knows about the kernel at the moment of the second reading."
        [docs: pages::PYTORCH_ASYNCHRONOUS]

    CONSTANT_FIGURE "constant-figure" Wrong: "the figure does not change with the work"
        rule: "A reported time has to be that of this very run."
        next: "See where the figure comes from: runs of different sizes returned the same one."

    GAP_TOO_SMALL "gap-too-small" MisTimed: "the gap between event time and bare clock is too small"
        rule: "A launch takes microseconds, whatever the kernel takes: a bare clock misses nearly all of it."
        next: "Look at which of the two figures is off, and what it stands around."

    // Exercise 03: pinned copies.

    PAGEABLE_COPY "pageable-copy" Blocked: "an asynchronous copy with pageable memory held the host"
        rule: "An asynchronous copy is a request: only with pinned host memory is the host free while it runs."
        next: "See what kind of memory the host's side of that copy is."
        [docs: pages::SYNC_BEHAVIOR]

    PAGEABLE_BY_LUCK "pageable-by-luck" Blocked:
        "a copy from pageable memory came back at once, by luck of its size"
        rule: "Small pageable uploads go through the driver's staging memory; where that is full, they hold the host."
        next: "See what kind of memory the copy reads, and think of the same copy at fifty times the size."
        [docs: pages::SYNC_BEHAVIOR]

    BATCH_LEFT_OUT "batch-left-out" Wrong: "not every batch went through the device"
        rule: "What is graded is what the driver was asked to do, and not only the numbers."
        next: "Count the uploads, launches and downloads that your code makes for the batches it is given."

    COPY_NOT_STARTED "copy-not-started" Wrong: "the function returned without having started the copy"
        rule: "A copy runs beside other work only if it is enqueued before anyone needs its result."
        next: "See which call enqueues the copy, and whether the function gets to it."

    HOST_HELD "host-held" Blocked: "a call held the host where none may"
        rule: "Whoever waits in a function that only has to start something makes its caller wait, too."
        next: "Look up what the call that is shown waits for, and whether anything here needs that wait."

    WAITED_FOR_THE_STREAM "waited-for-the-stream" Blocked: "the wait was for more than the copy"
        rule: "Synchronizing a stream waits for all that was enqueued on it, later work included."
        next: "Find something that marks the place on the stream right behind the copy."
        [docs: pages::STREAMS]

    REFILLED_DURING_COPY "refilled-during-copy" Raced:
        "a pinned buffer was written while its upload may still be reading it"
        rule: "An upload from pinned memory reads it when the stream gets there, not when the call returns."
        next: "Ask yourself how the host can know that the upload before has read the buffer."
        [docs: pages::PYTORCH_PINNED]

    FREED_DURING_COPY "freed-during-copy" Raced:
        "pinned memory was given back while a copy may still be using it"
        rule: "The host's side of an asynchronous copy has to live until the stream has done the copy."
        next: "See where the pinned memory is dropped, and who else could own it."
        [docs: pages::MEMORY]

    READ_BEFORE_READY "read-before-ready" Raced:
        "the target of a download was read before the download was known to be done"
        rule: "A download into pinned memory returns at once; the values come when the stream gets there."
        next: "Ask yourself how the host can know that the copy has arrived."
        [docs: pages::SYNC_BEHAVIOR]

    UNORDERED_ACCESS "unordered-access" Raced: "two accesses to the same memory are not ordered"
        rule: "What two streams, or a stream and the host, do to the same bytes needs a wait in between."
        next: "Look at the two lines, and at what makes the second one wait for the first."
        [docs: pages::STREAMS]

    PINNED_LEAKED "pinned-leaked" Wrong:
        "pinned memory is never given back"
        rule: "Pinned memory is the machine's own: nothing else can use it until it is given back."
        next: "Let the value that the function returns own the memory, so that it lives as long as that."
        [docs: pages::MEMORY]

    PINNED_INSIDE_THE_LOOP "pinned-inside-the-loop" Serialized:
        "pinned memory is given back between the batches"
        rule: "Giving pinned memory back waits for all the work of the device."
        next: "Count how many pinned buffers are in use at the same time, and when each is needed for good."

    COPY_AND_COMPUTE_ON_ONE_STREAM "copy-and-compute-on-one-stream" Serialized:
        "all copies and kernels are on one stream"
        rule: "A stream runs its operations one after another; only those of two streams run side by side."
        next: "See which of the operations have to come after one another, and which have not."
        [docs: pages::ASYNCHRONOUS]

    SYNC_AFTER_EACH_BATCH "sync-after-each-batch" Serialized:
        "the host waits for each batch before it starts the next"
        rule: "While the host waits for all that it has enqueued, the device has nothing else to do."
        next: "Ask yourself which earlier batch a new one has to wait for, and from when on."
        [docs: pages::ASYNCHRONOUS]

    LITTLE_OVERLAP "little-overlap" Serialized: "most copies ran while no kernel did"
        rule: "Copies are free only where they run beside kernels."
        next: "Draw the operations of three batches on a time line, and find what each one waits for."
        [docs: pages::ASYNCHRONOUS]

    // Exercise 04: order between streams; 05 uses these, too.

    MISSING_WAIT "missing-wait" Raced:
        "a stream uses memory that another stream may not be done with"
        rule: "Streams run on their own: what one does to memory that another uses needs a wait in between."
        next: "Name the two operations and their streams, and ask what makes the second one's stream wait for the first."
        [docs: pages::PYTORCH_STREAMS]

    WAIT_WRONG_WAY_ROUND "wait-wrong-way-round" Raced: "there is a wait, and the wrong stream waits"
        rule: "The stream that has to wait is the one on which the later of the two operations is."
        next: "Say which operation has to come second, and compare its stream with the one that waits."
        [docs: pages::STREAMS]

    RECORDED_TOO_EARLY "recorded-too-early" Raced:
        "what was waited for had been recorded before the work was enqueued"
        rule: "An event covers what was on its stream when it was recorded, and nothing after that."
        next: "See what is on the stream at the line where the event is recorded."
        [docs: pages::EVENTS]

    RECORDED_AGAIN "recorded-again" Raced: "the event was recorded again before the wait"
        rule: "A wait is bound to the latest record that the event has when the wait is enqueued."
        next: "Follow the event from its first record to the wait, and see on which stream it was last."
        [docs: pages::STREAMS]

    WAITED_TOO_LATE "waited-too-late" Raced: "the wait was enqueued behind the work that needs it"
        rule: "A wait holds back what is enqueued on its stream after it, not what is there already."
        next: "Compare the line of the wait with the line of the work that has to wait."
        [docs: pages::STREAMS]

    REUSE_BEFORE_RECORD "reuse-before-record" Raced:
        "memory was handed out again while another stream may still use it"
        rule: "A caching allocator knows a tensor's own stream, and no other that it was not told of."
        next: "List the streams that use the tensor, and find out which of them the allocator knows of."
        [docs: pages::RECORD_STREAM]

    NOT_HANDED_BACK "not-handed-back" Wrong: "the tensor's memory did not go back to the allocator"
        rule: "Memory that is held on to is lost to every later tensor."
        next: "See who still owns the tensor when the function returns."
        [docs: pages::RECORD_STREAM]

    ALL_ON_ONE_STREAM "all-on-one-stream" Serialized: "all the work is on one stream"
        rule: "A stream runs its operations one after another; only those of two streams run side by side."
        next: "See in README.md which operation belongs on which stream, and what makes a stream current."
        [docs: pages::PYTORCH_STREAMS]

    ON_ANOTHER_STREAM "on-another-stream" Wrong: "work is on another stream than it belongs on"
        rule: "Whoever uses a result waits for the stream that the work was asked for on, and for no other."
        next: "See in README.md which operation belongs on which stream, and which one each launch gets."
        [docs: pages::PYTORCH_STREAMS]

    ORDERED_WITHOUT_NEED "ordered-without-need" Serialized:
        "an operation waits for another that it does not depend on"
        rule: "What is enqueued behind a wait cannot run beside what the wait is for."
        next: "For each wait, name the memory that it protects, and take out the one that protects none."
        [docs: pages::PYTORCH_STREAMS]

    DEVICE_WIDE_SYNC "device-wide-sync" Blocked: "the host waits for every stream of the device"
        rule: "To order two streams, one of them has to wait for the other; the host need not."
        next: "Find the two streams that have to be ordered, and a call that makes one wait for the other."
        [docs: pages::PYTORCH_STREAMS]

    HOST_POLLS "host-polls" Blocked: "the host asks how far the device is"
        rule: "Asking until the answer is yes is a wait, and the host gets nothing else done meanwhile."
        next: "See who needs the answer: a stream can wait by itself, and the host can ask when all is enqueued."
        [docs: pages::PYTORCH_STREAMS]

    // Exercise 06: accidental syncs.

    HIDDEN_SYNC "hidden-sync" Blocked: "a line of the loop holds the host"
        rule: "What needs an answer of the device holds the host, and so does a copy that cannot be asynchronous."
        next: "See who needs the result of that line now, the host or only the device; and what a copy's memory is."
        [docs: pages::SYNC_BEHAVIOR]

    SYNC_OUTSIDE_THE_CLOCK "sync-outside-the-clock" Blocked:
        "the host is held between two laps of the clock, once a step"
        rule: "A wait that the clock does not see still leaves the device without work, once a step."
        next: "Think of what the host could ask for after the last step, and where to keep it until then."
        [docs: pages::SYNC_BEHAVIOR]

    WORK_OUTSIDE_THE_CLOCK "work-outside-the-clock" MisTimed:
        "the clock does not stand around the steps any more"
        rule: "A step's time is that of all that the step enqueues: upload, forward, backward and update."
        next: "Compare what each lap of the clock holds with what it held in the starter."

    SYNC_NOT_MARKED "sync-not-marked" Wrong: "a line that holds the host is not marked"
        rule: "A line holds the host if it cannot be done before the device has got somewhere."
        next: "Look for what needs a value or a size that only the device knows, and for a copy that is not asynchronous."
        [docs: pages::SYNC_BEHAVIOR]

    MARKED_WITHOUT_SYNC "marked-without-sync" Wrong: "a line is marked that does not hold the host"
        rule: "A line that only enqueues holds nobody, and neither does asking whether something is done."
        next: "Name for each marked line of that snippet what the host waits for there, and why it needs it."
        [docs: pages::SYNC_BEHAVIOR]

    NOT_A_MARK "not-a-mark" Wrong: "a comment looks like a mark, and does not count as one"
        rule: "A mark is exactly `//~ SYNC`, at the end of a line of a snippet's code."
        next: "Write it like that at the end of the line that it is for, or remove it."

    SNIPPET_CHANGED "snippet-changed" Wrong: "the code of a snippet was changed"
        rule: "The snippets are to be read, and marked: only comments may be added to them."
        next: "Put its code back. `cargo xtask reset 6` gives you the starter, and keeps yours in a folder."

    // Exercise 07: phase timing.

    PHASE_BOUNDARY "phase-boundary" MisTimed: "no event pair stands around exactly this phase"
        rule: "A pair times what was enqueued between its two records on their stream: all of it, and nothing else."
        next: "Write down in which order the events and the phase's work are enqueued on the stream."
        [docs: pages::EVENTS]

    WAIT_INSIDE_THE_PHASE "wait-inside-the-phase" MisTimed:
        "the time of a phase holds the wait for another stream"
        rule: "An event before a wait is passed before the stream stands still, and then the pair times that, too."
        next: "Look at which of the two comes first on the stream: the event, or the wait."
        [docs: pages::EVENTS]

    BLOCKED_BETWEEN_EVENTS "blocked-between-events" Blocked:
        "the host was held between the first event and the last"
        rule: "Who waits while measuring measures another program: the device runs dry, and nothing overlaps."
        next: "Think about when the times of the events are needed, and when at the latest they can be read."
        [docs: pages::EVENTS]

    STREAMS_SERIALIZED "streams-serialized" Serialized: "the two streams never run side by side"
        rule: "Work of two streams can run side by side only if neither has to come after the other."
        next: "Find what makes this upload come after the step before it, and whether it has to."
        [docs: pages::PYTORCH_STREAMS]

    PHASES_ADDED_UP "phases-added-up" MisTimed: "phases that run side by side were added up"
        rule: "Times on two streams overlap: the whole is from the first beginning to the last end, not the sum."
        next: "Find two events whose distance is the whole, on whichever streams they are."
        [docs: pages::EVENTS]

    TIMELINE_DISAGREES "timeline-disagrees" MisTimed: "the timeline is not what the driver recorded"
        rule: "A beginning is a time, too: that between a common first event and the phase's own."
        next: "Compare the two times above, and see where yours comes from."
        [docs: pages::EVENTS]

    TIMELINE_INCOMPLETE "timeline-incomplete" MisTimed: "the timeline does not show what the profile has"
        rule: "A timeline has an object for each phase under its name, in microseconds, and a row for each stream."
        next: "Compare the text that `timeline` makes with what its comment asks for."
        [docs: pages::TRACE_FORMAT]

    BEGINNING_NOT_ASKED "beginning-not-asked" MisTimed: "the driver was never asked when a phase began"
        rule: "A beginning is a time, too: that between a common first event and the phase's own."
        next: "See which two events the beginning of this phase lies between, and who asks for their time."
        [docs: pages::EVENTS]
}
