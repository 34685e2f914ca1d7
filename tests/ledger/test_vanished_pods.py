"""Pods that vanished between two looks: what bounds their end, and that of their attempt."""

import pytest
from tables import bench as table_bench

ATTEMPTS = """
    cluster  job  attempt  start  end    outcome
    c        A    1        01:00  02:00  failed
    c        A    2        02:20  -      running
    """
JOBS = """
    cluster  job  state    kind      is_instrumented
    c        A    running  training  true
    """
LINES = "cluster  job  attempt  log_id  ended_at"


@pytest.fixture
def bench(warehouse):
    """Only what a test expects is computed."""
    with table_bench(warehouse, rebuilds=()) as tables:
        yield tables


@pytest.fixture
def nodes(bench):
    bench.given(
        "staged.nodes",
        """
        cluster  node_uid  gpus
        c        n         8
        """,
    )
    return bench


def give_pods(bench, text):
    bench.given(
        "raw.pods",
        "cluster  node_uid  pod_uid  gpus  bound_at  released_at  last_seen  gone_by\n" + text,
    )


def test_a_pod_that_needs_the_room_proves_that_the_one_before_was_gone(nodes):
    give_pods(
        nodes,
        """
        c  n  old  8  01:00  -  02:00  02:30
        c  n  new  8  02:20  -  -      -
        """,
    )
    nodes.expect(
        "staged.pods",
        """
        pod_uid  released_at  gone_by
        old      02:20        02:20
        new      -            -
        """,
    )


def test_a_pod_that_fits_beside_it_proves_nothing(nodes):
    give_pods(
        nodes,
        """
        c  n  old   4  01:00  -      02:00  02:30
        c  n  left  4  01:00  02:10  -      -
        c  n  new   4  02:20  -      -      -
        """,
    )
    nodes.expect(
        "staged.pods",
        """
        pod_uid  released_at  gone_by
        old      02:30        02:30
        left     02:10        -
        new      -            -
        """,
    )


def test_of_two_that_vanished_neither_need_have_been_the_one_that_made_room(nodes):
    give_pods(
        nodes,
        """
        c  n  one  4  01:00  -  02:00  02:30
        c  n  two  4  01:00  -  02:00  02:30
        c  n  new  4  02:20  -  -      -
        """,
    )
    nodes.expect(
        "staged.pods",
        """
        pod_uid  gone_by
        one      02:30
        two      02:30
        new      -
        """,
    )


def test_a_pod_that_stays_counts_as_taken_room(nodes):
    give_pods(
        nodes,
        """
        c  n  stays  4  01:00  -  -      -
        c  n  old    4  01:00  -  02:00  02:30
        c  n  new    4  02:20  -  -      -
        """,
    )
    nodes.expect(
        "staged.pods",
        """
        pod_uid  gone_by
        stays    -
        old      02:20
        new      -
        """,
    )


@pytest.mark.parametrize(
    ("last_seen", "spoke", "ended"),
    [
        ("02:00", "01:50", "02:00"),  # before the last look
        ("02:00", "02:08", "02:08"),
        ("02:00", "02:40", "02:15"),  # after it was missed: another clock
        ("01:50", "02:08", "02:00"),  # an end that was declared; what is printed later is no life
    ],
)
def test_an_attempt_whose_end_nobody_saw_lives_while_its_log_grows(bench, last_seen, spoke, ended):
    bench.given("observed.attempts_kube", ATTEMPTS)
    bench.given("staged.jobs", JOBS)
    bench.given(
        "observed.pods_kube",
        f"""
        cluster  pod_uid  job  attempt  last_seen    gone_by
        c        p        A    1        {last_seen}  02:15
        """,
    )
    bench.given("observed.log_attempts", f"{LINES}\nc  A  1  log  {spoke}")
    bench.expect(
        "staged.attempts",
        f"""
        attempt  started_at  ended_at
        1        01:00       {ended}
        2        02:20       -
        """,
    )


def test_a_pod_that_should_have_been_gone_tells_that_its_attempt_was_over(bench):
    bench.given(
        "observed.pods_kube",
        """
        cluster  job  attempt  pod_uid  bound_at  last_seen  gone_by
        c        A    1        stuck    01:00     03:00      03:10
        c        A    1        p        01:00     02:00      02:10
        """,
    )
    bench.given(
        "observed.gpu_pods",
        """
        cluster  job  pod_uid  deletion_at
        c        A    stuck    02:05
        c        A    p        -
        """,
    )
    bench.given(
        "observed.jobs_kube",
        """
        cluster  job  state
        c        A    running
        """,
    )
    bench.expect(
        "observed.attempts_kube",
        """
        attempt  start  end    outcome
        1        01:00  02:05  failed
        """,
    )
