"""What small logs say about how their run ended, and why: the root, not what follows from it."""

import gzip
import io
import random
from datetime import UTC, datetime

import pytest
import zstandard

from goodput.logs import LogHints
from goodput.logs.classify import classify_log
from goodput.logs.findings import classes
from goodput.logs.signatures import load_signatures


def _classify(text, **options):
    data = text.encode() if isinstance(text, str) else text
    return classify_log(io.BytesIO(data), LogHints(path="run/x.log"), **options)


def _steps(first, last, rank=0):
    return "".join(f"{rank}: step={n} loss=2.3\n" for n in range(first, last + 1))


def _end(text, **options):
    """Outcome, class, group, confidence and the number of the root line."""
    last = _classify(text, **options).last
    root = None if last.root is None else last.root.line
    return last.outcome, last.failure_class, last.group, last.confidence, root


WATCHDOG = (
    "[rank0]:[E1218 20:27:21.426415540 ProcessGroupNCCL.cpp:629] [Rank 0] Watchdog caught "
    "collective operation timeout: WorkNCCL(SeqNum=1, OpType=BROADCAST) ran for 600081 ms\n"
)
REMOTE = (
    "torch.distributed.DistBackendError: NCCL error: ncclRemoteError: A call failed possibly due "
    "to a network error or a remote process exiting prematurely.\n"
)
AGENT = (
    "[ERROR] failed (exitcode: 1) local_rank: 0 (pid: 11127) of binary: /usr/bin/python\n"
    "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
    "Root Cause (first observed failure):\n"
    "  exitcode  : 1 (pid: 11127)\n"
)
SIGTERM = "W0307 22:44:03.158000 1 torch/x.py:890] Sending process 7 closing signal SIGTERM\n"
CANCEL = "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-01-05T00:10:00 ***\n"
TIME_LIMIT = (
    "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-01-05T00:10:00 DUE TO TIME LIMIT ***\n"
)
VALUE = "[rank3]: ValueError: too many values to unpack\n"
OOM = "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB.\n"
ECC = "RuntimeError: CUDA error: uncorrectable ECC error encountered\n"
UNKNOWN = (
    "terminate called after throwing an instance of 'c10::CUDAError'\n"
    "  what():  CUDA error: unknown error\n"
)
XID = "Jan  5 00:00:09 n1 kernel: NVRM: Xid (PCI:0000:4e:00): 79, pid=2, fallen off the bus.\n"
XID_94 = "NVRM: Xid (PCI:0000:4e:00): 94, pid=2, Contained ECC error\n"
ADVICE = "CUDA kernel errors might be asynchronously reported at some other API call\n"

FAILED = ("failed", "app.code", "application", 70)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(_steps(1, 4) + VALUE, (*FAILED, 5), id="the rank's own error"),
        pytest.param(
            _steps(1, 4) + WATCHDOG + REMOTE + VALUE + AGENT + SIGTERM,
            (*FAILED, 7),
            id="the root though its consequences were written first",
        ),
        pytest.param(
            _steps(1, 4) + OOM + ADVICE + REMOTE + AGENT + CANCEL,
            ("failed", "app.oom_gpu", "application", 70, 5),
            id="a cancellation after the failure",
        ),
        pytest.param(
            _steps(1, 4) + WATCHDOG + "RuntimeError: something later\n" + AGENT,
            ("failed", "unk.comm", "unknown", 0, 5),
            id="weak evidence after a collective timeout",
        ),
        pytest.param(
            REMOTE + AGENT, ("failed", "unk.comm", "unknown", 0, 1), id="only consequences"
        ),
        pytest.param(AGENT, ("failed", "unk.none", "unknown", 0, None), id="only the agent"),
        pytest.param(
            UNKNOWN, ("failed", "unk.none", "unknown", 0, 2), id="an unknown CUDA error alone"
        ),
        pytest.param(
            UNKNOWN + XID,
            ("failed", "gpu.lost", "gpu_hardware", 90, 3),
            id="an unknown CUDA error with an Xid beside it",
        ),
        pytest.param(
            OOM + XID_94,
            ("failed", "gpu.mem", "gpu_hardware", 90, 2),
            id="out of memory, words of a GPU that loses pages",
        ),
        pytest.param(
            WATCHDOG + ECC,
            ("failed", "gpu.mem", "gpu_hardware", 90, 2),
            id="the watchdog carries an ECC error",
        ),
        pytest.param(
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a "
            "total capacity of 10.75 GiB of which 10.50 MiB is free. Process 605868 has 5.84 GiB "
            "memory in use. Process 605870 has 4.10 GiB memory in use.\n",
            ("failed", "app.config", "application", 70, 1),
            id="another process fills the GPU",
        ),
        pytest.param(
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU 0 has a "
            "total capacity of 79.15 GiB of which 1.20 GiB is free. Process 4242 has 77.94 GiB "
            "memory in use. Of the allocated memory 75.10 GiB is allocated by PyTorch\n",
            ("failed", "app.oom_gpu", "application", 70, 1),
            id="the job itself fills the GPU, seen from a container",
        ),
        pytest.param(
            "OSError: [Errno 28] No space left on device: '/data/x'\n",
            ("failed", "host.disk", "storage", 70, 1),
            id="the disk is full",
        ),
        pytest.param(
            "OSError: [Errno 28] No space left on device: '/dev/shm/torch_1'\n",
            ("failed", "app.config", "application", 70, 1),
            id="shared memory is full",
        ),
        pytest.param(
            "  exitcode  : -9 (pid: 11127)\n",
            ("failed", "app.oom_host", "application", 40, 1),
            id="killed, without any further evidence",
        ),
        pytest.param(
            _steps(1, 9) + "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=8.0.\n"
            "slurmstepd: error: *** STEP 8.0 ON n1 CANCELLED AT 2026-01-05T00:10:00 ***\n",
            ("failed", "app.oom_host", "application", 90, 10),
            id="the step is cancelled because of its memory",
        ),
        pytest.param(
            _steps(1, 9) + CANCEL + "SignalException: Process 3 got signal: 15\n",
            ("cancelled", "user.cancel", "user_cancelled", 95, 10),
            id="scancel, and what dies of it",
        ),
        pytest.param(
            _steps(1, 9)
            + "torch.distributed.elastic.multiprocessing.api.SignalException: got signal: 15\n"
            + CANCEL,
            ("cancelled", "user.cancel", "user_cancelled", 95, 11),
            id="scancel, told after what dies of it",
        ),
        pytest.param(
            _steps(1, 9) + TIME_LIMIT + SIGTERM,
            ("timeout", "user.timeout", "time_limit", 95, 10),
            id="the time limit",
        ),
        pytest.param(
            _steps(1, 9) + TIME_LIMIT + _steps(10, 11),
            ("timeout", "user.timeout", "time_limit", 95, 10),
            id="the time limit, and steps that a buffer held back",
        ),
        pytest.param(
            "srun: error: Node failure on n7\nsrun: Job step aborted\n",
            ("failed", "host.lost", "node", 90, 1),
            id="a node failed",
        ),
        pytest.param(
            _steps(1, 9) + "error: *** JOB 1 ON n CANCELLED AT 2026-01-05T00:10:00 DUE TO "
            "PREEMPTION ***\n" + VALUE,
            ("preempted", "plat.preempt", "preemption", 95, 10),
            id="preempted; tracebacks follow",
        ),
        pytest.param(
            _steps(1, 9) + "loss=nan\nTraceback (most recent call last):\nKeyboardInterrupt\n",
            ("cancelled", "user.cancel", "user_cancelled", 95, 12),
            id="interrupted by hand",
        ),
    ],
)
def test_the_root_is_told_from_what_follows_from_it(text, expected):
    assert _end(text) == expected


DONE = "Training completed\n"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(_steps(1, 4) + DONE, id="plainly"),
        pytest.param(_steps(1, 4) + DONE + VALUE + AGENT, id="noise of taking things down"),
        pytest.param(_steps(1, 4) + DONE + TIME_LIMIT, id="a later time limit"),
        pytest.param(VALUE + _steps(1, 4) + DONE, id="an error that was survived"),
    ],
)
def test_what_succeeded_did_not_fail(text):
    assert _end(text) == ("success", None, "none", 95, None)


def test_the_last_step_planned_shows_a_success_that_is_not_declared():
    text = "[INFO] Step: 3/4, x\n[INFO] Step: 4/4, x\n"
    assert _end(text) == ("success", None, "none", 70, None)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(_steps(1, 9), id="it just stops"),
        pytest.param(_steps(1, 3) + VALUE + _steps(4, 9), id="an error that was survived"),
        pytest.param(_steps(1, 3) + XID + _steps(4, 9), id="even an Xid"),
        pytest.param(_steps(1, 9) + "WARNING: a KeyError: 'x' was caught\n", id="a warning"),
        pytest.param(ADVICE, id="advice"),
        pytest.param("hello\n", id="no log of training"),
        pytest.param("", id="nothing"),
    ],
)
def test_a_log_that_just_stops_proves_no_failure(text):
    assert _end(text) == ("unknown", None, "none", 0, None)


def test_an_error_that_recurs_without_progress_is_the_last_word_of_the_log():
    storm = "NCCL WARN NET/IB : Got completion with error 12, opcode 0, len 0, vendor err 129\n"
    assert _end(_steps(1, 4) + storm * 500) == ("hung", "net.fabric", "network", 40, 5)


def test_a_log_whose_clock_goes_on_without_progress_shows_a_hang():
    steps = "".join(f"2026-01-05T00:00:{n:02d}Z step={n} step_time=1\n" for n in range(1, 9))
    pulse = "2026-01-05T{}Z PULSE: still running\n"
    assert _end(steps + pulse.format("00:20:00"))[:2] == ("unknown", None)
    assert _end(steps + pulse.format("00:40:00")) == ("hung", "unk.none", "unknown", 0, None)


def test_a_log_that_is_being_written_belongs_to_a_run_that_goes_on():
    text = "2026-01-05 00:00:01 step=1 loss=2\n"
    now = datetime(2026, 1, 5, 0, 5, tzinfo=UTC).timestamp() * 1000
    assert _end(text, now_ms=round(now))[0] == "running"
    assert _end(text, now_ms=round(now) + 3_600_000)[0] == "unknown"


def test_a_format_that_always_says_its_end_tells_a_log_that_was_cut_off():
    block = (
        ':::MLLOG {"namespace": "", "time_ms": 1709184112964, "event_type": "INTERVAL_END", "key": '
        '"block_stop", "value": null, "metadata": {"lineno": 68, "first_epoch_num": 0}}\n'
    )
    assert _end(block) == ("unknown", "unk.none", "unknown", 0, None)


def test_attempts_in_one_file_each_have_their_end_and_the_last_one_speaks_for_the_log():
    start = "Setting OMP_NUM_THREADS environment variable for each process to be 1\n"
    saved = "saved checkpoint at step 4\n"
    text = start + _steps(1, 5) + saved + OOM + start + _steps(5, 8) + CANCEL + start
    verdict = _classify(text)
    ends = [(a.outcome, a.failure_class, a.steps and a.steps.last) for a in verdict.attempts]
    assert ends == [
        ("failed", "app.oom_gpu", 5),
        ("cancelled", "user.cancel", 8),
        ("unknown", None, None),
    ]
    assert (verdict.restarts, verdict.last.outcome) == (2, "cancelled")
    assert (verdict.steps.first, verdict.steps.last, verdict.steps.count) == (1, 8, 9)
    assert [(c.step, c.line, c.complete) for c in verdict.checkpoints] == [(4, 7, True)]


def test_xids_are_named_once_in_the_order_in_which_they_came():
    assert _classify(XID + XID_94 + XID).xids == [79, 94]


def test_two_sources_that_agree_are_surer_than_one():
    assert _end(ECC + "NVRM: Xid (PCI:0000:4e:00): 48, pid=2, DBE\n")[1:4] == (
        "gpu.mem",
        "gpu_hardware",
        95,
    )


def test_a_secret_in_the_root_line_is_not_shown():
    verdict = _classify(
        "OSError: cannot reach s3://key:hunter2secret@host/x: Read-only file system\n"
    )
    assert "hunter2secret" not in verdict.last.root.evidence.text


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress, bytes])
def test_packed_logs_say_the_same(pack):
    assert _end(pack((_steps(1, 4) + VALUE).encode())) == (*FAILED, 5)


# ---------------------------------------------------------------- hostile text


def _mutated(line, rng):
    data = bytearray(line)
    for _ in range(rng.randint(1, 4)):
        place = rng.randrange(len(data) + 1)
        kind = rng.randrange(3)
        if kind == 0:
            data[place:place] = rng.randbytes(rng.randint(1, 5))
        elif kind == 1:
            del data[place : place + rng.randint(1, 9)]
        else:
            data[place : place + 1] = rng.randbytes(1)
    return bytes(data)


def test_random_bytes_never_crash_and_never_name_a_class():
    rng = random.Random(5)
    data = b"\n".join(rng.randbytes(rng.randint(0, 200)) for _ in range(5000))
    assert _end(data) == ("unknown", None, "none", 0, None)


def test_a_class_above_unknown_always_has_a_signature_that_names_it():
    examples = [s.example.encode() for s in load_signatures().signatures]
    real = (_steps(1, 3) + WATCHDOG + REMOTE + AGENT + OOM + XID + CANCEL + UNKNOWN).encode()
    rng = random.Random(7)
    lines = [*examples, *real.splitlines()]
    for _ in range(1000):
        text = b"\n".join(_mutated(rng.choice(lines), rng) for _ in range(5))
        last = _classify(text).last
        if last.group not in ("none", "unknown"):
            assert last.root is not None or last.outcome in ("cancelled", "preempted", "timeout")
        assert last.failure_class is None or last.failure_class in classes()
