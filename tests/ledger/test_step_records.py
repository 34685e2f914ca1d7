"""Step records in order, in runs, and cut where the fate of their positions changes [2.1-2.8]."""

import pytest
from ledger_rows import LedgerBench


@pytest.fixture
def bench(model):
    """One training job A, whose attempts a test gives."""
    bench = LedgerBench(model)
    bench.given("jobs", "job  state\nA  running")
    return bench


@pytest.fixture
def one_attempt(bench):
    """Attempt 1 of the job, from 01:00 to 02:00."""
    bench.given(
        "attempts",
        """
        job  attempt  start  end    outcome
        A    1        01:00  02:00  failed
        """,
    )
    return bench


# ------------------------------------------------------------------ records


def test_each_record_stands_once_and_in_order(one_attempt):
    one_attempt.given(
        "steps",
        """
        job  attempt  first  last  start  end    row_id
        A    1        3      4     01:20  01:30  a
        A    1        1      2     01:10  01:20  b
        # told again, by another collector
        A    1        3      4     01:20  01:30  c
        A    1        1      2     01:10  01:20  d
        A    1        1      2     01:10  01:20  e
        # not the same: other positions, another end
        A    1        1      1     01:10  01:20  f
        A    1        3      4     01:20  01:31  g
        """,
    )
    one_attempt.model.rebuild("intervals.step_sequence")
    rows = one_attempt.model.con.execute(
        "select first, last, strftime(make_timestamp(started_ms * 1000), '%H:%M'),"
        " strftime(make_timestamp(ended_ms * 1000), '%H:%M') from intervals.step_sequence"
    ).fetchall()
    assert rows == [
        (1, 1, "01:10", "01:20"),
        (1, 2, "01:10", "01:20"),
        (3, 4, "01:20", "01:30"),
        (3, 4, "01:20", "01:31"),
    ]
    assert one_attempt.check("step_records_stand_in_order") == []


def test_of_copies_the_one_that_names_its_world_size_counts(one_attempt):
    one_attempt.given(
        "steps",
        """
        job  attempt  step  start  end    world  row_id
        A    1        1     01:10  01:20  -      a
        A    1        1     01:10  01:20  16     b
        A    1        1     01:10  01:20  16     c
        """,
    )
    one_attempt.model.rebuild("intervals.step_sequence")
    con = one_attempt.model.con
    assert con.execute("select first, last, world from staged.steps").fetchall() == [(1, 1, 16)]
    assert con.execute(
        "select first, last, setting.world from intervals.step_sequence"
        " inner join intervals.step_settings as setting using (setting_id)"
    ).fetchall() == [(1, 1, 16)]


def test_records_are_clamped_into_their_attempt(one_attempt):
    one_attempt.given(
        "steps",
        """
        job  attempt  step  start  end
        # before it, over its start, over its end, after it
        A    1        1     00:40  00:50
        A    1        2     00:50  01:10
        A    1        3     01:50  02:10
        A    1        4     02:10  02:20
        """,
    )
    one_attempt.model.expect(
        "intervals.step_sequence",
        """
        first  last  started_ms  ended_ms
        2      2     01:00       01:10
        3      3     01:50       02:00
        """,
    )


def test_what_was_not_over_at_the_knowledge_time_is_no_record(one_attempt):
    one_attempt.given(
        "steps",
        """
        job  attempt  step  start  end
        A    1        1     01:00  01:10
        A    1        2     01:10  01:20
        A    1        3     01:20  01:30
        """,
    )
    one_attempt.model.window("00:00", "168:00", as_of="01:20")
    one_attempt.model.expect("intervals.step_sequence", "last\n1\n2")


def test_a_record_without_a_start_begins_where_the_one_before_it_ended(bench):
    bench.given(
        "attempts",
        """
        job  attempt  start  end    outcome
        A    1        01:00  02:00  failed
        A    2        02:30  -      running
        """,
    )
    bench.given(
        "steps",
        """
        job  attempt  step  start  end
        # the first of an attempt tells no duration, and an instant has none
        A    1        1     -      01:10
        A    1        2     -      01:20
        A    1        3     -      01:20
        # the end of the one before is as clamped
        A    1        4     01:30  02:10
        A    1        5     -      02:20
        # nor does another attempt tell where this one began
        A    2        6     -      02:40
        A    2        7     -      02:50
        """,
    )
    bench.model.expect(
        "intervals.step_sequence",
        """
        attempt_id  last  started_ms  ended_ms
        1           2     01:10       01:20
        1           4     01:30       02:00
        2           7     02:40       02:50
        """,
    )


def test_records_that_end_together_go_by_their_positions(one_attempt):
    one_attempt.given(
        "steps",
        """
        job  attempt  first  last  start  end
        A    1        3      3     01:12  01:20
        A    1        2      3     01:15  01:20
        A    1        1      1     01:10  01:20
        """,
    )
    one_attempt.model.rebuild("intervals.step_sequence")
    assert one_attempt.model.con.execute(
        "select first, last, prev_last from intervals.step_sequence"
    ).fetchall() == [(1, 1, None), (2, 3, 1), (3, 3, 3)]
    # Only the last of them goes back.
    one_attempt.model.expect("intervals.step_turns", "cut_to  is_first\n2       false")


def test_settings_are_numbered_where_a_record_differs_from_its_attempt(bench):
    bench.given(
        "attempts",
        """
        job  attempt  start  end  outcome  world  config
        A    1        01:00  -    running  16     x
        """,
    )
    bench.given(
        "steps",
        """
        job  attempt  step  start  end    world  config
        A    1        1     01:00  01:10  -      -
        A    1        2     01:10  01:20  16     x
        A    1        3     01:20  01:30  8      -
        A    1        4     01:30  01:40  8      y
        """,
    )
    bench.model.rebuild("intervals.step_sequence")
    assert bench.model.con.execute(
        "select last, setting_id = 0, setting.world, setting.config from intervals.step_sequence"
        " left join intervals.step_settings as setting using (setting_id) order by last"
    ).fetchall() == [
        (1, True, None, None),
        (2, True, None, None),
        (3, False, 8, "x"),
        (4, False, 8, "y"),
    ]


def test_records_out_of_order_break_a_check(model):
    rows = """
        attempt_id  last  more_count  ended_ms  duration_ms
        1           1     0           01:10     60000
        1           2     0           01:10     30000
        1           3     0           01:09     30000
        2           1     0           01:00     30000
        1           4     0           03:00     30000
    """
    model.given("intervals.step_records", rows)
    model.rebuild("intervals.step_breaks")
    broken = LedgerBench(model).check("step_records_stand_in_order")
    assert [row[1:3] for row in broken] == [(1, 3), (1, 4)]


# ------------------------------------------------------- the record before it


def test_a_counter_that_goes_back_cuts_where_it_goes_back_to(bench):
    bench.given(
        "attempts",
        """
        job  attempt  start  end    outcome  resume_step
        A    1        01:00  02:00  failed   -
        A    2        02:00  03:00  failed   4
        A    3        03:00  -      running  4
        """,
    )
    bench.given(
        "steps",
        """
        job  attempt  first  last  start  end
        A    1        1      3     01:00  01:10
        A    1        4      6     01:10  01:20
        A    1        4      4     01:20  01:30
        A    1        7      7     01:30  01:40
        # resumed from 4, and went on there
        A    2        5      5     02:00  02:10
        # resumed from 4, and began below it
        A    3        4      5     03:00  03:10
        """,
    )
    bench.model.expect(
        "intervals.step_sequence",
        """
        attempt_id  first  is_first  prev_last  prev_ended_ms
        1           1      true      -          -
        1           4      false     3          01:10
        1           4      false     6          01:20
        1           7      false     4          01:30
        2           5      true      -          -
        3           4      true      -          -
        """,
    )
    bench.model.expect(
        "intervals.step_turns",
        """
        attempt_id  cut_to  cut_ms  is_first
        1           3       01:20   false
        3           3       03:00   true
        """,
    )


# --------------------------------------------------------------------- runs


def minutes(*positions, start=0):
    """Rows of raw.steps: records of one position and one minute, back to back from 01:`start`."""
    return [
        {
            "job": "A",
            "attempt": 1,
            "step": position,
            "start": f"01:{minute:02}",
            "end": f"01:{minute + 1:02}",
        }
        for minute, position in enumerate(positions, start)
    ]


def test_a_quiet_stretch_is_one_run_after_its_first_record(one_attempt):
    one_attempt.rows("steps", minutes(1, 2, 3, 4, 5, 6))
    one_attempt.model.expect(
        "intervals.step_runs",
        """
        first  last  started_ms  ended_ms  is_slow  is_synthetic  stretch_key
        1      1     01:00       01:01     false    false         0
        2      6     01:01       01:06     false    false         0
        """,
    )
    assert one_attempt.check("runs_hold_every_record") == []


def test_a_gap_in_time_begins_a_run(one_attempt):
    one_attempt.rows("steps", minutes(1, 2, 3) + minutes(4, 5, 6, start=10))
    one_attempt.model.expect(
        "intervals.step_runs",
        """
        first  last  started_ms  ended_ms
        1      1     01:00       01:01
        2      3     01:01       01:03
        4      6     01:10       01:13
        """,
    )


def test_a_record_that_a_phase_touches_is_a_run_by_itself(one_attempt):
    one_attempt.rows("steps", minutes(1, 2, 3, 4, 5, 6))
    one_attempt.given(
        "phases",
        """
        job  attempt  kind       start     end
        A    1        ckpt_save  01:03:20  01:03:40
        # what only borders on a record does not touch it
        A    1        eval       01:06     01:09
        """,
    )
    one_attempt.model.expect(
        "intervals.step_runs",
        """
        first  last  started_ms  ended_ms
        1      1     01:00       01:01
        2      3     01:01       01:03
        4      4     01:03       01:04
        5      6     01:04       01:06
        """,
    )


def test_a_counter_that_goes_back_begins_a_stretch(one_attempt):
    one_attempt.rows("steps", minutes(1, 2, 3, 4, 3, 4, 5))
    model = one_attempt.model
    model.rebuild("intervals.step_runs")
    rows = model.con.execute(
        "select first, last, stretch_key = 0, stretch_key = 2 * 5 - 2 + min(first_key) over ()"
        " from intervals.step_runs order by first_key"
    ).fetchall()
    # The turn stands at the fifth record; keys count records by twos.
    assert rows == [
        (1, 1, True, False),
        (2, 4, True, False),
        (3, 3, False, True),
        (4, 5, False, True),
    ]


def test_slow_records_are_runs_by_themselves(bench):
    """The second attempt takes twice as long for each position of the same configuration."""
    bench.given(
        "attempts",
        """
        job  attempt  start  end    outcome  world
        A    1        01:00  01:10  failed   8
        A    2        02:00  -      running  8
        """,
    )
    bench.rows("steps", minutes(1, 2, 3))
    bench.given(
        "steps",
        """
        job  attempt  step  start  end    world
        A    2        4     02:00  02:02  -
        A    2        5     02:02  02:04  -
        A    2        6     02:04  02:06  -
        # with fewer devices it is no longer slow
        A    2        7     02:06  02:08  4
        A    2        8     02:08  02:10  4
        A    2        9     02:10  02:12  4
        """,
    )
    bench.model.window("00:00", "168:00", slow_min_rows="2")
    bench.model.expect(
        "intervals.step_runs",
        """
        attempt_id  first  last  is_slow
        1           1      1     false
        1           2      3     false
        2           4      4     true
        2           5      5     true
        2           6      6     true
        2           7      9     false
        """,
    )


def test_lost_lines_are_filled_and_what_is_overlapped_is_hidden(bench):
    """Both make an attempt ragged: its records are runs by themselves. Another stays as it is."""
    bench.given(
        "attempts",
        """
        job  attempt  start  end    outcome
        A    1        01:00  02:00  failed
        A    2        02:00  -      running
        """,
    )
    bench.rows("steps", minutes(1, 2) + minutes(5, 6, start=8))
    bench.given(
        "steps",
        """
        job  attempt  step  start     end
        A    1        7     01:09:30  01:10:30
        A    2        8     02:00     02:01
        A    2        9     02:01     02:02
        A    2        10    02:02     02:03
        """,
    )
    bench.model.expect(
        "intervals.step_runs",
        """
        attempt_id  first  last  started_ms  ended_ms  visible_end_ms  is_synthetic
        1           1      1     01:00       01:01     01:01           false
        1           2      2     01:01       01:02     01:02           false
        # two positions at the pace of the others, a minute each
        1           3      4     01:02       01:04     01:04           true
        1           5      5     01:08       01:09     01:09           false
        1           6      6     01:09       01:10     01:09:30        false
        1           7      7     01:09:30    01:10:30  01:10:30        false
        2           8      8     02:00       02:01     02:01           false
        2           9      10    02:01       02:03     02:03           false
        """,
    )
    assert bench.check("runs_hold_every_record") == []


# -------------------------------------------------------------------- parts


def test_a_run_of_single_positions_is_cut_at_the_end_of_one_of_them(bench):
    bench.given(
        "attempts",
        """
        job  attempt  start  end    outcome  resume_step
        A    1        01:00  01:10  failed   -
        A    2        02:00  -      running  4
        """,
    )
    bench.rows("steps", minutes(1, 2, 3, 4, 5, 6, 7))
    bench.model.expect(
        "intervals.step_parts",
        """
        first  last  started_ms  ended_ms  run_position_count
        1      1     01:00       01:01     1
        2      4     01:01       01:04     6
        5      7     01:04       01:07     6
        """,
    )


def test_a_record_of_many_positions_inside_a_run_is_cut_in_proportion(bench):
    bench.given(
        "attempts",
        """
        job  attempt  start  end    outcome  resume_step
        A    1        01:00  01:10  failed   -
        A    2        02:00  -      running  8
        """,
    )
    bench.given(
        "steps",
        """
        job  attempt  first  last  start  end
        A    1        1      3     01:00  01:03
        A    1        4      6     01:03  01:06
        A    1        7      9     01:06  01:07
        A    1        10     12    01:07  01:10
        """,
    )
    # 8 is the second of three positions in a minute.
    bench.model.expect(
        "intervals.step_parts",
        """
        first  last  started_ms  ended_ms  run_position_count
        1      3     01:00       01:03     3
        4      8     01:03       01:06:40  9
        9      12    01:06:40    01:10     9
        """,
    )


def test_a_position_is_looked_up_on_its_own_side_of_a_counter_that_went_back(bench):
    bench.given(
        "attempts",
        """
        job  attempt  start  end    outcome  resume_step
        A    1        01:00  02:00  failed   -
        A    2        02:00  -      running  8
        """,
    )
    bench.given(
        "steps",
        """
        job  attempt  first  last  start  end
        A    1        1      3     01:00  01:03
        A    1        4      6     01:03  01:06
        A    1        7      9     01:06  01:09
        A    1        10     12    01:09  01:12
        # back to 2: there is a second time for 8
        A    1        2      5     01:12  01:16
        A    1        6      10    01:16  01:21
        A    1        11     15    01:21  01:26
        # proves that 8 is durable, wherever it was done
        A    2        9      9     02:00  02:01
        """,
    )
    bench.model.expect(
        "intervals.step_parts",
        """
        first  last  started_ms  ended_ms
        1      1     01:00       01:01
        2      3     01:01       01:03
        4      8     01:03       01:08
        9      12    01:08       01:12
        2      5     01:12       01:16
        6      8     01:16       01:19
        9      15    01:19       01:26
        9      9     02:00       02:01
        """,
    )
