"""What samples mean: silence and gaps."""

from prom_states import GPU, LINK, NODE, READY, give_hours, give_node_object, give_states


def test_what_lacks_in_all_series_is_a_gap_told_once_for_queries_of_the_same_span(bench):
    for query, labels, value in (
        ("node_condition", READY, "true"),
        ("node_unschedulable", NODE, "0"),
        ("node_taint", NODE, "1"),
    ):
        give_states(
            bench, query, labels, f"{value}  00:10:10  00:59:40\n{value}  01:30:10  02:59:40"
        )
    # Another node goes on through a part of the hole.
    give_states(bench, "gpu_xid", GPU, "0  00:00:10  02:59:40")
    give_hours(
        bench, "node_condition", "node_unschedulable", "node_taint", "gpu_xid", "gpu_throttle"
    )
    bench.expect(
        "observed.collector_gaps_prom",
        """
        source_name  from      to        reason
        prometheus   00:00     00:10:10  no samples of node_condition, node_unschedulable
        prometheus   00:59:40  01:30:10  no samples of node_condition, node_unschedulable
        """,
    )


def test_a_series_that_goes_on_fills_the_hole_of_another(bench):
    give_states(
        bench, "node_condition", READY, "true  00:00:10  00:20:10\ntrue  00:40:10  00:59:40"
    )
    give_states(bench, "node_condition", LINK, "false  00:00:10  00:59:40")
    give_hours(bench, "node_condition", until=1)
    bench.expect("observed.collector_gaps_prom", "source_name")


def test_hours_that_nobody_asked_for_in_between_are_a_gap(bench):
    give_states(
        bench, "node_condition", READY, "true  00:00:10  00:59:40\ntrue  05:00:10  05:59:40"
    )
    bench.given(
        "raw.prom_slices",
        """
        cluster  query           from   to     series  samples
        c        node_condition  00:00  01:00  1       120
        c        node_condition  05:00  06:00  1       120
        """,
    )
    bench.expect(
        "observed.collector_gaps_prom",
        """
        from      to        reason
        00:59:40  05:00:10  no samples of node_condition
        """,
    )


def test_an_answer_with_a_warning_is_a_gap(bench):
    give_states(bench, "node_condition", READY, "true  00:00:10  00:59:40")
    give_hours(bench, "node_condition", until=1, warnings="store a is down")
    bench.expect(
        "observed.collector_gaps_prom",
        """
        from   to     reason
        00:00  01:00  node_condition came with a warning: store a is down
        """,
    )


def test_silence_between_the_first_and_the_last_hour_leaves_no_beats(bench):
    give_states(
        bench, "node_condition", READY, "true  00:00:10  00:20:10\ntrue  00:24:10  00:59:40"
    )
    give_states(bench, "node_condition", LINK, "false  00:00:10  00:59:40")
    give_hours(bench, "node_condition", until=1)
    assert beats(bench) == [
        ("1970 00:00:00", "2026 00:00:00", 30),
        ("2026 00:00:10", "2026 00:20:10", 30),
        ("2026 00:24:10", "2026 01:00:00", 30),
        ("2026 01:00:00", "2999 00:00:00", 30),
    ]


def test_a_node_that_another_source_saw_ready_was_looked_at(bench):
    give_states(
        bench, "node_condition", READY, "true  00:00:10  00:20:10\ntrue  00:50:10  00:59:40"
    )
    give_hours(bench, "node_condition", until=1)
    give_node_object(bench, "00:30:00", "00:40", "True", kind="Ready")

    assert beats(bench)[1:4] == [
        ("2026 00:00:10", "2026 00:20:10", 30),
        ("2026 00:30:00", "2026 00:40:00", 30),
        ("2026 00:50:10", "2026 01:00:00", 30),
    ]


def beats(bench):
    """The beat trains of the one check of the one node."""
    bench.rebuild("observed.health_checks_prom")
    [row] = bench.con.execute(
        'select node_uid, "check", required, stale_after_s,'
        " list_transform(beats, lambda beat: {'begin': strftime(beat.\"from\", '%Y %H:%M:%S'),"
        " 'end': strftime(beat.\"to\", '%Y %H:%M:%S'), 'every_s': beat.every_s})"
        " from observed.health_checks_prom"
    ).fetchall()
    assert row[:4] == ("u-1", "prometheus", True, 75.0)
    return [tuple(beat.values()) for beat in row[4]]
