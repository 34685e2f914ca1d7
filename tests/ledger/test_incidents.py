"""What failed together is one incident; who was preempted for whose restart [STANDARD 4.7]."""

import pytest
from ledger_rows import LedgerBench

JOBS = "ABCDE"


@pytest.fixture
def bench(model):
    """Nodes n1 … n5, on each a job of two GPUs since midnight that fails at 01:00."""
    bench = LedgerBench(model)
    bench.rows("jobs", [{"job": job, "state": "failed"} for job in JOBS])
    bench.rows(
        "attempts",
        [
            {"job": job, "attempt": 1, "start": "00:00", "end": "01:00", "outcome": "failed"}
            for job in JOBS
        ],
    )
    bench.rows(
        "pods",
        [
            {
                "pod_uid": f"p{job}",
                "job": job,
                "attempt": 1,
                "node_uid": f"n{number}",
                "gpus": 2,
                "bound_at": "00:00",
                "terminated_at": "01:00",
            }
            for number, job in enumerate(JOBS, start=1)
        ],
    )
    return bench


def nodes(bench, *labels):
    bench.rows(
        "nodes",
        [
            {
                "node_uid": f"n{number}",
                "pool": "p",
                "gpus": 2,
                "registered_at": "00:00",
                "topology": label,
            }
            for number, label in enumerate(labels, start=1)
        ],
    )


def errors(bench, *rows, value="79"):
    """GPU errors as (node, clock time)."""
    bench.rows(
        "evidence",
        [{"t": t, "source": "xid", "value": value, "node_uid": node} for node, t in rows],
    )


def incidents(bench):
    """The jobs of each incident, and its label."""
    bench.model.rebuild("ledger.incidents")
    return bench.model.con.execute(
        "select array_to_string(jobs, ''), topology from ledger.incidents order by all"
    ).fetchall()


def test_nodes_of_one_rack_fail_together(bench):
    nodes(bench, "rack1", "rack1", "rack2", "rack1", "rack1")
    # D follows B by 60 s, E follows D by more.
    errors(
        bench,
        ("n1", "00:51"),
        ("n2", "00:51:30"),
        ("n3", "00:51:30"),
        ("n4", "00:52:30"),
        ("n5", "00:53:31"),
    )
    assert incidents(bench) == [("ABD", "rack1"), ("C", "rack2"), ("E", "rack1")]


def test_nodes_without_a_label_fail_together_if_there_are_three(bench):
    nodes(bench, *"-----")
    errors(bench, ("n1", "00:55"), ("n2", "00:55:50"), ("n3", "00:56:40"), ("n4", "00:58"))
    errors(bench, ("n5", "00:58:01"))
    assert incidents(bench) == [("ABC", None), ("D", None), ("E", None)]


def test_classes_do_not_mix(bench):
    nodes(bench, "rack1", "rack1", "rack1", "rack1", "rack1")
    errors(bench, ("n1", "00:55"), ("n2", "00:55"))
    errors(bench, ("n3", "00:55"), ("n4", "00:55"), value="48")
    # Nothing is known of E: it is alone.
    assert incidents(bench) == [("AB", "rack1"), ("CD", "rack1"), ("E", None)]


def test_a_rack_says_nothing_about_storage(bench):
    nodes(bench, "rack1", "rack1", "rack2", "rack2", "rack3")
    bench.rows(
        "evidence",
        [
            {
                "t": "00:58",
                "source": "kernel",
                "value": "nfs: server 10.0.0.1 not responding, still trying",
                "node_uid": f"n{number}",
            }
            for number in (1, 2, 3, 4, 5)
        ],
    )
    assert incidents(bench) == [("ABCDE", None)]


def test_one_row_of_evidence_is_one_incident_however_long_it_lasts(bench):
    """The outage of a node, and the job that its condition takes down twenty minutes later."""
    nodes(bench, *"-----")
    bench.given(
        "node_conditions",
        """
        node_uid  type                      status   reason             from      to
        n1        AcceleratedHardwareReady  False    NvidiaXID79Error   00:40:00  02:00:00
        n1        Ready                     Unknown  NodeStatusUnknown  03:00:00  03:00:10
        """,
    )
    bench.model.expect(
        "ledger.incidents",
        """
        incident                           started_at  nodes  jobs  interruption_count  outage_count
        gpu.lost 2026-03-02T00:40:00Z n1   00:40       [n1]   [A]   1                   1
        host.lost 2026-03-02T03:00:00Z n1  03:00       [n1]   []    0                   1
        """,
        where="class <> 'unk.none'",
    )
    # What the incident cost is what its members cost: A's hour was for nothing, and n1 was out on
    # both GPUs from the end of the job until 02:00.
    bench.model.expect(
        "ledger.outages",
        """
        node_uid  class      incident                           lost_gpu_ms
        n1        gpu.lost   gpu.lost 2026-03-02T00:40:00Z n1   7200000
        n1        host.lost  host.lost 2026-03-02T03:00:00Z n1  20000
        """,
    )
    bench.model.expect(
        "ledger.incidents",
        """
        class      lost_gpu_ms
        gpu.lost   14400000
        host.lost  20000
        """,
        where="class <> 'unk.none'",
    )


def test_the_birth_of_a_node_is_no_incident(bench):
    bench.rows(
        "nodes",
        [
            {
                "node_uid": f"n{number}",
                "pool": "p",
                "gpus": 2,
                "registered_at": "00:00",
                "ready_at": "00:05",
            }
            for number in (1, 2, 3)
        ],
    )
    bench.model.expect(
        "ledger.outages",
        """
        node_uid  class          incident
        n1        base.overhead  -
        n2        base.overhead  -
        n3        base.overhead  -
        """,
    )


@pytest.fixture
def preempted(model):
    """V/1 on both GPUs of n1 is preempted at 02:00; whoever comes next binds there."""
    bench = LedgerBench(model)
    bench.given(
        "nodes",
        """
        node_uid  pool  gpus  registered_at
        n1        p     2     00:00
        n2        p     2     00:00
        """,
    )
    bench.rows("jobs", [{"job": job, "state": "running"} for job in "VRF"])
    bench.given(
        "attempts",
        """
        job  attempt  start     end       outcome
        V    1        00:00     02:00     preempted
        R    1        00:00     01:30     failed
        """,
    )
    bench.given(
        "pods",
        """
        pod_uid  job  attempt  node_uid  gpus  bound_at  terminated_at
        v1       V    1        n1        2     00:00     02:00:30
        r1       R    1        n2        2     00:00     01:30
        """,
    )
    bench.given("evidence", "t  source  value  node_uid\n01:29  xid  79  n2")
    return bench


def comes_next(bench, job, attempt, bound_at, gpus=2):
    bench.rows("attempts", [{"job": job, "attempt": attempt, "start": bound_at}])
    bench.rows(
        "pods",
        [
            {
                "pod_uid": f"next {job}",
                "job": job,
                "attempt": attempt,
                "node_uid": "n1",
                "gpus": gpus,
                "bound_at": bound_at,
            }
        ],
    )


def caused_by(bench):
    bench.model.rebuild("ledger.interruptions")
    return bench.model.con.execute(
        "select class, confidence, caused_by, caused_by_job, caused_by_attempt"
        " from ledger.interruptions where job = 'V'"
    ).fetchone()


def test_a_preemption_for_a_restart_names_what_broke_the_restarted(preempted):
    comes_next(preempted, "R", 2, "02:00:40")
    assert caused_by(preempted) == ("plat.preempt", 95, "gpu.lost", "R", 1)


@pytest.mark.parametrize(
    ("job", "attempt", "bound_at"),
    [
        # A first start; one that comes too late; the preempted job itself.
        ("F", 1, "02:00:40"),
        ("R", 2, "02:05:31"),
        ("V", 2, "02:00:40"),
    ],
)
def test_other_preemptions_have_no_second_order(preempted, job, attempt, bound_at):
    comes_next(preempted, job, attempt, bound_at)
    assert caused_by(preempted) == ("plat.preempt", 95, None, None, None)


def test_who_took_the_most_gpus_was_made_room_for(preempted):
    preempted.given("nodes", "node_uid  pool  gpus  registered_at\nn3  p  3  00:00")
    preempted.model.con.execute(
        "update raw.pods set node_uid = 'n3', gpus = 3 where pod_uid = 'v1'"
    )
    comes_next(preempted, "F", 1, "02:00:40", gpus=1)
    comes_next(preempted, "R", 2, "02:00:50", gpus=2)
    preempted.model.con.execute("update raw.pods set node_uid = 'n3' where pod_uid like 'next%'")
    assert caused_by(preempted) == ("plat.preempt", 95, "gpu.lost", "R", 1)
