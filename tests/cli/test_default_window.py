from datetime import UTC, datetime

import polars as pl
import pytest

from goodput.errors import NoData
from goodput.lake import Lake
from goodput.warehouse.windows import chosen_words, default_window
from goodput.window import Window

NOW = datetime(2026, 4, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("days", "week"),
    [
        (["2026-03-02", "2026-03-08"], "2026-W10"),  # to its Sunday
        (["2026-03-02", "2026-03-09"], "2026-W10"),  # and beyond
        (["2026-02-20", "2026-03-04"], "2026-W09"),  # a week without rows of its own is whole too
        (["2026-03-03", "2026-03-05"], "2026-W10"),  # no whole week at all
        (["2026-03-08"], "2026-W10"),
        (["2026-03-02", "2026-03-08", "2062-01-01"], "2026-W10"),  # a slip of the year
    ],
)
def test_the_last_whole_week_that_the_data_reach(tmp_path, days, week):
    lake = Lake.open(tmp_path / "lake", create=True)
    ends = [datetime.fromisoformat(day).replace(tzinfo=UTC) for day in days]
    frame = pl.DataFrame({"job": days, "ended_at": ends})
    lake.publish({"jobs": frame}, ingested_from="a test", ingested_at=None)

    assert default_window(lake, NOW).iso_week == week


def test_a_week_in_progress_is_not_chosen_while_an_earlier_one_is_there(tmp_path):
    sunday_night = datetime(2026, 3, 8, 23, tzinfo=UTC)
    lake = Lake.open(tmp_path / "lake", create=True)
    ends = [datetime(2026, 2, 27, tzinfo=UTC), datetime(2026, 3, 8, tzinfo=UTC)]
    frame = pl.DataFrame({"job": ["A", "B"], "ended_at": ends})
    lake.publish({"jobs": frame}, ingested_from="a test", ingested_at=None)

    window = default_window(lake, sunday_night)

    assert window.iso_week == "2026-W09"
    assert "the last week" in chosen_words(window, sunday_night)
    assert "not over yet" in chosen_words(Window.of_week("2026-W10"), sunday_night)


def test_rows_without_a_time_give_no_window(tmp_path):
    lake = Lake.open(tmp_path / "lake", create=True)
    frame = pl.DataFrame({"job": ["A"]})
    lake.publish({"jobs": frame}, ingested_from="a test", ingested_at=None)

    with pytest.raises(NoData, match="has a time up to 2026-04-01"):
        default_window(lake, NOW)
