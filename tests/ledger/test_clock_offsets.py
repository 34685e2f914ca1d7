"""Clocks that differ from the API server's: what leases and the edges of logs prove."""

import pytest
from tables import bench, clock


@pytest.fixture
def model(warehouse):
    with bench(warehouse, rebuilds=()) as tables:
        tables.given(
            "observed.nodes_kube",
            """
            cluster  node_uid  name  gpus  registered_at
            c        u-1       n-1   8     00:00
            """,
        )
        yield tables


def give_looks(model, *looks, source="kubernetes"):
    """Looks at the lease of the node: when, and what stood in it."""
    rows = [
        f"c  coordination.k8s.io/v1  Lease  n-1  {at}  false  "
        f'{{"spec":{{"leaseDurationSeconds":40,"renewTime":"{clock(renewed).isoformat()}"}}}}'
        f"  {source}"
        for at, renewed in looks
    ]
    header = "cluster  api_version  kind  name  observed_at  is_deleted  body  ingested_from"
    model.given("raw.kube_objects", "\n".join([header, *rows]))


AHEAD = [("01:00", "01:01:55"), ("02:00", "02:01:58"), ("03:00", "03:01:52")]


def test_leases_tell_how_far_the_clock_of_a_node_is_ahead(model):
    """Renewed every ten seconds, so five seconds old on average: 115 s and 5 s."""
    give_looks(model, *AHEAD)
    model.expect(
        "observed.clock_offsets_kube",
        """
        cluster  node_uid  offset_s
        c        u-1       120
        """,
    )


@pytest.mark.parametrize(
    "looks",
    [
        [("01:00", "00:59:51"), ("02:00", "01:59:57"), ("03:00", "02:59:53")],
        [("01:00", "00:59:58"), ("02:00", "00:59:58"), ("03:00", "00:59:58")],
        [("01:00", "01:00:30"), ("02:00", "01:59:00"), ("03:00", "03:02:00")],
        AHEAD[:2],
    ],
    ids=["age of a renewal", "a dead node", "all over the place", "too few"],
)
def test_what_is_no_offset_is_none(model, looks):
    give_looks(model, *looks)
    model.expect("observed.clock_offsets_kube", "node_uid")


def test_a_dump_does_not_say_when_it_was_taken(model):
    give_looks(model, *AHEAD, source="leases.json")
    model.expect("observed.clock_offsets_kube", "node_uid")


def give_logs(model, *lines, started="01:00", finished="02:00", run=0, pods=1):
    """First and last line of one log a pod, of pods that ran all at once."""
    names = [f"p-{n}" for n in range(len(lines))]
    tables = {
        "observed.known_pods": (
            "cluster  pod_uid  uid  name  job  attempt",
            [f"c  {n}{extra}  {n}{extra}  {n}  J  1" for n in names for extra in range(pods)],
        ),
        "observed.container_runs": (
            "cluster  pod_uid  container  run  started_at  finished_at",
            [f"c  {n}0  main  {run}  {started}  {finished}" for n in names],
        ),
        "observed.log_files_latest": (
            "cluster  log_id  pod",
            [f"c  log-{n}  {n}" for n in names],
        ),
        "observed.log_pods": (
            "cluster  log_id  segment  pod_uid  job  attempt",
            [f"c  log-{n}  0  {n}0  J  1" for n in names],
        ),
        "observed.log_segments_latest": (
            "cluster  log_id  segment  started_at  ended_at",
            [f"c  log-{n}  0  {a}  {b}" for n, (a, b) in zip(names, lines, strict=True)],
        ),
    }
    for table, (header, rows) in tables.items():
        model.given(table, "\n".join([header, *rows]))


@pytest.mark.parametrize(
    ("lines", "offset_s"),
    [
        ([("00:50", "01:49:30")], -600),
        ([("01:12", "02:10")], 600),
        ([("03:00:20", "03:59:40")], 7180),
        ([("00:50", "01:45"), ("00:49:50", "01:45"), ("00:50:10", "01:45")], -600),
    ],
    ids=["behind", "ahead", "another zone", "median of the ranks"],
)
def test_lines_outside_the_life_of_their_container_prove_an_offset(model, lines, offset_s):
    give_logs(model, *lines)
    model.expect(
        "observed.clock_offsets_log",
        f"""
        cluster  job  attempt  offset_s
        c        J    1        {offset_s}
        """,
    )


@pytest.mark.parametrize(
    ("lines", "more"),
    [
        ([("01:20", "01:30")], {}),
        ([("00:59:56", "02:00:04")], {}),
        ([("00:50", "01:45"), ("01:00:10", "01:45"), ("01:00:20", "01:45")], {}),
        ([("00:50", "01:45")], {"run": 1}),
        ([("00:50", "01:45")], {"pods": 2}),
        ([("01:10", "02:30")], {"finished": "-"}),
        ([("48:00", "49:00")], {}),
    ],
    ids=[
        "long silence",
        "within the bound",
        "one rank of three",
        "a restart in place",
        "a name used twice",
        "still running",
        "days apart",
    ],
)
def test_what_proves_nothing_gives_no_offset(model, lines, more):
    give_logs(model, *lines, **more)
    model.expect("observed.clock_offsets_log", "job")
