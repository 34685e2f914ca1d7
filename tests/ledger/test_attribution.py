"""What an interruption is laid to, and how sure that is [STANDARD 4.5, 4.6]."""

import pytest
from ledger_rows import LedgerBench

LOST_NODE = """
    node_uid  type   status   reason             from      to
    n1        Ready  Unknown  NodeStatusUnknown  00:08:00  -
"""


@pytest.fixture
def bench(model):
    """Attempt A/1 on both GPUs of n1, from midnight on, declared failed at 00:10."""
    bench = LedgerBench(model)
    bench.given(
        "nodes",
        """
        node_uid  pool   gpus  registered_at
        n1        train  2     00:00
        """,
    )
    bench.given(
        "jobs",
        """
        job  state   ended_at
        A    failed  00:10
        """,
    )
    bench.given(
        "attempts",
        """
        job  attempt  start  end    outcome
        A    1        00:00  00:10  failed
        """,
    )
    return bench


def a_pod(bench, exit_code="-", reason="-", ended_at="-"):
    bench.given(
        "pods",
        f"""
        pod_uid  job  attempt  node_uid  gpus  bound_at  running_at  terminated_at  exit_code  reason
        p1       A    1        n1        2     00:00     00:00       {ended_at}  {exit_code}  {reason}
        """,  # noqa: E501
    )


def expect(bench, job, cause, confidence):
    bench.model.expect(
        "intervals.attribution",
        f"""
        class    confidence
        {cause}  {confidence}
        """,
        where=f"job = '{job}'",
    )


@pytest.mark.parametrize(
    ("rows", "cause", "confidence"),
    [
        ("00:09:00  xid  48  -", "gpu.mem", 90),
        ("00:09:00  xid  48  -\n00:09:02  xid  171  -", "gpu.mem", 90),
        ("00:09:00  xid  48  -\n00:09:02  xid  172  -", "gpu.sram", 90),
        # Too far apart to be one event: the error that came first.
        ("00:09:00  xid  48  -\n00:09:06  xid  172  -", "gpu.mem", 90),
        ("00:09:00  xid  149  NETIR_LINK_DOWN Fatal XC0 i0 Link 03", "gpu.nvlink", 70),
        ("00:09:00  xid  149  NETIR_BER_EVENT Nonfatal XC0 i0 Link 03", "unk.none", 0),
        ("00:09:00  xid  149  -", "gpu.nvlink", 70),
        ("00:09:00  kernel  NVRM: Xid (PCI:0000:04:00): 145, RLW_REMAP Nonfatal  -", "unk.none", 0),
        # The severity of other errors is in their number.
        ("00:09:00  xid  79  Nonfatal", "gpu.lost", 90),
        ("00:09:00  xid  154  GPU recovery action changed to 0x2 (Node Reboot)", "unk.none", 0),
        ("00:09:00  xid  43  -\n00:09:00  xid  45  -", "unk.none", 0),
    ],
)  # fmt: skip
def test_gpu_errors_are_read_with_what_comes_with_them(bench, rows, cause, confidence):
    a_pod(bench)
    evidence = "\n".join(f"{row}  n1  0" for row in rows.splitlines())
    bench.given("evidence", f"t  source  value  reason  node_uid  gpu\n{evidence}")
    expect(bench, "A", cause, confidence)


@pytest.mark.parametrize(
    ("exit_code", "reason", "cause", "confidence"),
    [
        # 137 beside ContainerStatusUnknown is a placeholder, beside OOMKilled a kill.
        (137, "ContainerStatusUnknown", "host.lost", 75),
        (137, "OOMKilled", "app.oom_host", 95),
        (137, "-", "unk.none", 0),
    ],
)
def test_the_reason_says_what_137_means(bench, exit_code, reason, cause, confidence):
    a_pod(bench, exit_code, reason, ended_at="00:10")
    expect(bench, "A", cause, confidence)


def test_a_node_lost_with_a_gpu_error_was_lost_to_the_gpu(bench):
    a_pod(bench)
    bench.given("node_conditions", LOST_NODE)
    bench.given(
        "evidence",
        """
        t         source  value  node_uid  gpu
        00:08:30  xid     79     n1        1
        """,
    )
    expect(bench, "A", "gpu.lost", 90)


def test_a_node_lost_with_an_error_of_the_application_was_lost(bench):
    a_pod(bench)
    bench.given("node_conditions", LOST_NODE)
    bench.given(
        "evidence",
        """
        t         source  value  node_uid  gpu
        00:08:30  xid     31     n1        1
        """,
    )
    expect(bench, "A", "host.lost", 90)


def test_an_application_error_that_follows_the_device_is_the_devices(bench):
    bench.model.window("00:00", "999:00")
    a_pod(bench)
    bench.rows(
        "jobs",
        [
            {"job": job, "lineage": lineage, "state": "failed"}
            for job, lineage in (("again", "A"), ("other", "B"), ("beside", "C"), ("later", "D"))
        ],
    )
    bench.given(
        "attempts",
        """
        job     attempt  start   end     outcome
        again   1        01:00   01:10   failed
        other   1        02:00   02:10   failed
        beside  1        02:00   02:10   failed
        later   1        780:00  780:10  failed
        """,
    )
    bench.given(
        "pods",
        """
        pod_uid  job     attempt  node_uid  gpus  devices  bound_at  terminated_at
        p2       again   1        n1        1     [0]      01:00     01:10
        p3       other   1        n1        1     [0]      02:00     02:10
        p4       beside  1        n1        1     [1]      02:00     02:10
        p5       later   1        n1        1     [0]      780:00    780:10
        """,
    )
    bench.model.con.execute(
        "update raw.pods set terminated_at = '2026-03-02 00:10Z' where job = 'A'"
    )
    bench.given(
        "evidence",
        """
        t       source  value  node_uid  gpu
        00:09   xid     31     n1        0
        01:09   xid     31     n1        0
        02:09   xid     31     n1        0
        02:09   xid     31     n1        1
        780:09  xid     31     n1        0
        """,
    )
    bench.model.expect(
        "intervals.attribution",
        """
        job     class      confidence
        # the first, and the same run again
        A       app.code   45
        again   app.code   45
        # another run on this device, and one on the device beside it
        other   gpu.other  75
        beside  app.code   45
        # after 28 days it begins anew
        later   app.code   45
        """,
    )


@pytest.mark.parametrize(
    ("gap", "confidence"),
    [
        ("00:07:00  00:07:01", 80),
        ("00:00:00  -", 80),
        ("00:14:59  00:20:00", 80),
        # Before the window of the evidence, and after it.
        ("00:15:00  00:20:00", 90),
    ],
)
def test_a_collector_gap_in_the_window_makes_less_sure(bench, gap, confidence):
    a_pod(bench)
    bench.given("evidence", "t  source  value  node_uid\n00:09  xid  79  n1")
    bench.given("collector_gaps", f"from  to\n{gap}")
    expect(bench, "A", "gpu.lost", confidence)


@pytest.mark.parametrize(
    ("last_step", "offset", "confidence", "reasons"),
    [
        ("00:10:05", "-", 95, ["proof", "on the node of the first death"]),
        (
            "00:10:06",
            "-",
            85,
            [
                "proof",
                "on the node of the first death",
                "clock suspect: steps after the pods ended",
            ],
        ),
        ("00:10:06", "0", 95, ["proof", "on the node of the first death"]),
    ],
)
def test_steps_after_the_pods_ended_make_the_clock_suspect(
    bench, last_step, offset, confidence, reasons
):
    a_pod(bench, ended_at="00:10")
    bench.given("evidence", "t  source  value  node_uid\n00:09  xid  79  n1")
    bench.given("steps", f"job  attempt  first  last  start  end\nA  1  1  10  00:01  {last_step}")
    if offset != "-":
        bench.given("clock_offsets", f"job  attempt  offset_s\nA  1  {offset}")
    expect(bench, "A", "gpu.lost", confidence)
    [(terms,)] = bench.model.con.execute(
        "select confidence_terms from intervals.attribution"
    ).fetchall()
    assert [term["reason"] for term in terms] == reasons
    assert sum(term["points"] for term in terms) == confidence


def test_confidence_never_falls_below_five(bench):
    bench.given("nodes", "node_uid  pool  gpus  registered_at\nn2  train  2  00:00")
    a_pod(bench)
    bench.given(
        "pods",
        """
        pod_uid  job  attempt  node_uid  gpus  bound_at
        p2       A    1        n2        2     00:00
        """,
    )
    bench.given("collector_gaps", "from  to\n00:00  -")
    bench.given("steps", "job  attempt  first  last  start  end\nA  1  1  10  00:01  00:12")
    # Suggestive, with a rival on another node, in a gap: 40 - 20 - 10.
    bench.given(
        "evidence",
        """
        t      source  value  node_uid
        00:09  xid     13     n1
        00:09  xid     8      n2
        """,
    )
    expect(bench, "A", "gpu.other", 10)
