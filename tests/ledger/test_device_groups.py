"""Devices of one fate are booked as one group, and shown one by one [STANDARD 1.3, 1.9]."""

import pytest
from ledger_rows import LedgerBench


@pytest.fixture
def bench(model):
    """Nodes of four GPUs each from 00:00 on, in a window of an hour."""
    bench = LedgerBench(model)
    model.window("00:00", "01:00")
    bench.rows(
        "nodes",
        [
            {"node_uid": f"n{n}", "pool": "p", "gpus": 4, "registered_at": "00:00"}
            for n in (1, 2, 3)
        ],
    )
    bench.given("jobs", "job  kind\nA  serving\nB  serving")
    return bench


def test_whole_nodes_are_one_group_each(bench):
    """One is free, one is held by a pod after the other, one by a pod that names all devices."""
    bench.given(
        "pods",
        """
        pod_uid  job  node_uid  gpus  devices       bound_at  released_at
        p1       A    n2        4     -             00:00     00:20
        p2       B    n2        4     -             00:30     -
        p3       B    n3        4     [3, 1, 0, 2]  00:30     -
        """,
    )
    bench.model.expect(
        "ledger.device_groups",
        """
        group_id  node_uid  profile  lead_gpu  gpus
        1         n1        -1       0         [0, 1, 2, 3]
        2         n2        -1       0         [0, 1, 2, 3]
        3         n3        -1       0         [0, 1, 2, 3]
        """,
    )


def test_a_node_is_split_by_who_holds_its_devices(bench):
    bench.given(
        "pods",
        """
        pod_uid  job  node_uid  gpus  devices  bound_at  released_at
        # two halves
        p1       A    n1        2     -        00:00     -
        p2       B    n1        2     -        00:10     -
        # one device has two pods one after the other, one has none
        p3       A    n2        2     [0, 1]   00:00     00:10
        p4       B    n2        2     [1, 2]   00:20     -
        # first a half, then the whole
        p5       A    n3        2     [1, 3]   00:00     00:10
        p6       B    n3        4     -        00:20     -
        """,
    )
    bench.model.expect(
        "ledger.device_groups",
        """
        node_uid  lead_gpu  gpus
        n1        0         [0, 1]
        n1        2         [2, 3]
        n2        0         [0]
        n2        1         [1]
        n2        2         [2]
        n2        3         [3]
        n3        0         [0, 2]
        n3        1         [1, 3]
        """,
    )
    bench.model.rebuild("ledger.pod_groups")
    assert bench.model.con.execute(
        "select pod_uid, list(gpus order by lead_gpu) from ledger.pod_groups"
        " inner join intervals.pod_devices using (pod_id)"
        " inner join ledger.device_groups using (group_id) group by pod_uid order by pod_uid"
    ).fetchall() == [
        ("p1", [[0, 1]]),
        ("p2", [[2, 3]]),
        ("p3", [[0], [1]]),
        ("p4", [[1], [2]]),
        ("p5", [[1, 3]]),
        ("p6", [[0, 2], [1, 3]]),
    ]


def test_a_device_with_a_condition_or_error_of_its_own_is_a_group_by_itself(bench):
    bench.given(
        "pods",
        """
        pod_uid  job  node_uid  gpus  bound_at  released_at
        p1       A    n1        4     00:00     00:30
        """,
    )
    bench.given("evidence", "t  source  value  node_uid  gpu\n00:10  xid  31  n1  2")
    bench.given(
        "node_conditions",
        """
        node_uid  gpu  type                      status  reason            from   to
        n2        0    AcceleratedHardwareReady  False   NvidiaXID79Error  00:10  00:20
        """,
    )
    bench.model.expect(
        "ledger.device_groups",
        """
        node_uid  profile  lead_gpu  gpus
        n1        -1       0         [0, 1, 3]
        n1        2        2         [2]
        n2        -1       1         [1, 2, 3]
        n2        0        0         [0]
        n3        -1       0         [0, 1, 2, 3]
        """,
    )


def test_a_group_is_booked_once_and_shown_device_by_device(bench):
    bench.given(
        "pods",
        """
        pod_uid  job  namespace  node_uid  gpus  devices  share  bound_at  released_at
        p1       A    web        n1        2     [1, 2]   -      00:00     00:20
        p2       B    web        n2        1     [0]      1/4    00:00     01:00
        """,
    )
    bench.ledger()
    bench.model.expect(
        "ledger.group_time",
        """
        node_uid  lead_gpu  gpus    started_at  ended_at  unit_ms   state    job  namespace  pod_uid
        n1        1         [1, 2]  00:00       00:20     2_400 gs  A.other  A    web        p1
        n2        0         [0]     00:00       01:00     900 gs    A.other  B    web        p2
        """,
        where="state = 'A.other'",
    )
    bench.model.expect(
        "ledger.gpu_time",
        """
        node_uid  gpu  started_at  ended_at  unit_ms   state        job
        n1        0    00:00       01:00     3_600 gs  I.no_demand  -
        n1        1    00:00       00:20     1_200 gs  A.other      A
        n1        1    00:20       01:00     2_400 gs  I.no_demand  -
        n1        2    00:00       00:20     1_200 gs  A.other      A
        n1        2    00:20       01:00     2_400 gs  I.no_demand  -
        n1        3    00:00       01:00     3_600 gs  I.no_demand  -
        n2        0    00:00       01:00     900 gs    A.other      B
        n2        0    00:00       01:00     2_700 gs  I.no_demand  -
        """,
        where="node_uid = 'n1' or (node_uid = 'n2' and gpu = 0)",
    )
    bench.model.expect(
        "ledger.window_totals",
        """
        node_uid  lead_gpu  state        unit_ms
        n1        0         I.no_demand  7_200 gs
        n1        1         A.other      2_400 gs
        n1        1         I.no_demand  4_800 gs
        n2        0         A.other      900 gs
        n2        0         I.no_demand  2_700 gs
        n2        1         I.no_demand  10_800 gs
        n3        0         I.no_demand  14_400 gs
        """,
    )
    assert bench.broken_checks() == []


@pytest.mark.parametrize(
    ("gpus", "broken"),
    [("[0, 1]", []), ("[0]", [("n", 1)]), ("[0, 1, 1]", [("n", 1)]), ("[0, 1, 2]", [("n", 2)])],
    ids=["each once", "one missing", "one twice", "one that is not paid"],
)
def test_every_device_stands_in_one_group_or_breaks_a_check(model, gpus, broken):
    model.given("ledger.devices", "cluster  node_uid  gpu\nc  n  0\nc  n  1")
    model.given("ledger.device_groups", f"cluster  node_uid  gpus\nc  n  {gpus}")
    rows = LedgerBench(model).check("groups_hold_every_device")
    assert [row[1:] for row in rows] == broken
