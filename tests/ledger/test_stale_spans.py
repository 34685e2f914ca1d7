"""Silence of a required check: where a node is stale, and what holds where states overlap."""

import pytest
from tables import DAY, bench

DAY_MS = int(DAY.timestamp()) * 1000


@pytest.fixture
def model(warehouse):
    with bench(warehouse, rebuilds=()) as tables:
        tables.given(
            "staged.nodes",
            """
            cluster  node_uid  gpus  paid_from  ready_at
            c        n         8     00:00      00:00
            """,
        )
        yield tables


def give_beats(model, *trains):
    """Trains of beats of a check whose bound is a minute: first, last, every so many seconds."""
    rows = [f"c  n  dcgm  60000  {a}  {b}  {int(every * 1000)}" for a, b, every in trains]
    header = "cluster  node_uid  check_name  stale_after_ms  started_ms  ended_ms  every_ms"
    model.given("staged.health_check_beats", "\n".join([header, *rows]))


def spans(model):
    """The stale spans as clock times, without an end where they last."""
    model.rebuild("intervals.stale_spans")
    rows = model.con.execute(
        "select started_ms, ended_ms from intervals.stale_spans order by all"
    ).fetchall()
    return [tuple(text_of(at) for at in row) for row in rows]


def text_of(at_ms):
    seconds, rest = divmod(at_ms - DAY_MS, 1000)
    if seconds > 365 * 86_400:
        return None
    text = f"{seconds // 3600:02}:{seconds % 3600 // 60:02}:{seconds % 60:02}"
    return f"{text}.{rest}" if rest else text


def test_beats_within_the_bound_leave_only_what_follows_the_last(model):
    give_beats(model, ("00:00", "00:30:30", 60), ("02:00", "02:10", 1))
    assert spans(model) == [("00:31:00", "02:00:00"), ("02:11:00", None)]


def test_before_the_first_beat_a_node_is_fresh_for_the_bound_after_it_was_ready(model):
    give_beats(model, ("00:05", "00:10", 30))
    assert spans(model) == [("00:01:00", "00:05:00"), ("00:11:00", None)]


def test_beats_farther_apart_than_the_bound_leave_a_span_after_each(model):
    give_beats(model, ("00:00", "00:04:30", 90))
    assert spans(model) == [
        ("00:01:00", "00:01:30"),
        ("00:02:30", "00:03:00"),
        ("00:04:00", "00:04:30"),
        ("00:05:30", None),
    ]


def test_of_sparse_beats_those_around_the_window_are_told(model):
    """A day of beats: from the last one before the window to the first one after it."""
    model.window("10:00", "10:03", as_of="100:00")
    give_beats(model, ("00:00:30", "24:00", 90))
    assert spans(model) == [
        ("10:00:00", "10:00:30"),
        ("10:01:30", "10:02:00"),
        ("10:03:00", "10:03:30"),
        ("24:00:00", None),
    ]


@pytest.mark.parametrize(("start", "end"), [("00:00", "00:01"), ("05:00", "05:01")])
def test_a_train_outside_the_window_is_fresh_until_it_ends(model, start, end):
    model.window(start, end, as_of="100:00")
    give_beats(model, ("01:00", "02:00", 90))
    assert spans(model) == [("00:01:00", "01:00:00"), ("02:01:00", None)]


def test_another_train_fills_what_one_leaves(model):
    give_beats(model, ("00:00", "00:10", 90), ("00:00:50", "00:10", 90))
    assert spans(model) == [("00:10:50", None)]


def test_beats_after_the_knowledge_time_are_not_known(model):
    model.window("00:00", "01:00", as_of="00:02")
    give_beats(model, ("00:00", "00:30", 30))
    assert spans(model) == [("00:03:00", None)]


def give_states(model, *rows):
    """Cordons and drains of the node: kind, whether planned, from, to."""
    model.given(
        "staged.node_admin",
        "\n".join(
            [
                "cluster  node_uid  kind  is_planned  started_at  ended_at",
                *(f"c  n  {kind}  {planned}  {a}  {b}" for kind, planned, a, b in rows),
            ]
        ),
    )
    model.given("intervals.device_profiles", "cluster  node_uid  gpu  profile\nc  n  0  -1")


def test_the_stronger_state_holds_where_two_overlap(model):
    give_states(model, ("cordon", "true", "00:10", "00:40"), ("drain", "false", "00:20", "00:30"))
    model.given(
        "intervals.stale_spans",
        """
        cluster  node_uid  started_ms  ended_ms
        c        n         00:25       00:35
        """,
    )
    model.expect(
        "intervals.node_states",
        """
        started_ms  ended_ms  node_state  is_planned  ok_open  ok_closed
        00:10       00:20     cordoned    true        true     true
        00:20       00:25     draining    false       true     true
        00:25       00:30     draining    false       true     false
        00:30       00:35     stale       false       true     false
        00:35       00:40     cordoned    true        true     true
        """,
    )


def test_of_two_of_the_same_state_the_unplanned_one_counts(model):
    give_states(model, ("cordon", "true", "00:10", "00:30"), ("cordon", "false", "00:20", "00:30"))
    model.expect(
        "intervals.node_states",
        """
        started_ms  ended_ms  node_state  is_planned
        00:10       00:20     cordoned    true
        00:20       00:30     cordoned    false
        """,
    )


def test_thousands_of_spans_under_a_long_one_are_each_told(model):
    give_states(model, ("cordon", "true", "00:00", "48:00"))
    model.con.execute(
        "insert into intervals.stale_spans (cluster, node_uid, started_ms, ended_ms)"
        " select 'c', 'n', ? + 2000 * n, ? + 2000 * n + 1000 from range(80000) as t (n)",
        [DAY_MS, DAY_MS],
    )
    model.given_tables.add("intervals.stale_spans")
    model.rebuild("intervals.node_states")

    assert model.con.execute(
        "select node_state, count(*), sum(ended_ms - started_ms) // 1000"
        " from intervals.node_states group by all order by all"
    ).fetchall() == [("cordoned", 80_000, 48 * 3600 - 80_000), ("stale", 80_000, 80_000)]
