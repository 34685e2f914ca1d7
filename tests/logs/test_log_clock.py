"""Naive times of logs: zones, the repeated hour, missing years."""

from datetime import UTC, datetime

import pytest

from goodput.errors import UsageError
from goodput.logs.clock import LogClock, zone_named


def _utc(clock, line):
    stamp = clock.read(line.encode())
    return stamp and datetime.fromtimestamp(stamp.ms / 1000, UTC).isoformat()


def test_naive_times_are_local_to_the_zone():
    clock = LogClock(zone_named("Europe/Paris"))
    assert _utc(clock, "2026-07-01 12:00:00 x") == "2026-07-01T10:00:00+00:00"
    assert _utc(clock, "2026-01-01 12:00:00 x") == "2026-01-01T11:00:00+00:00"
    assert not clock.assumed_utc


def test_without_a_zone_utc_is_assumed_and_noted():
    clock = LogClock()
    assert _utc(clock, "2026-07-01T12:00:00Z x") == "2026-07-01T12:00:00+00:00"
    assert not clock.assumed_utc
    assert _utc(clock, "2026-07-01 12:00:00 x") == "2026-07-01T12:00:00+00:00"
    assert clock.assumed_utc


def test_the_repeated_hour_is_told_apart_by_file_order():
    clock = LogClock(zone_named("Europe/Paris"))
    lines = [f"2025-10-26 0{hour}:{minute}:00 x" for hour, minute in ((1, 50), (2, 10), (2, 50))]
    lines += ["2025-10-26 02:05:00 x", "2025-10-26 02:45:00 x", "2025-10-26 03:00:00 x"]
    assert [_utc(clock, line)[11:16] for line in lines] == [
        "23:50",
        "00:10",
        "00:50",
        "01:05",
        "01:45",
        "02:00",
    ]


def test_a_time_that_goes_back_for_another_reason_stays_in_the_first_pass():
    clock = LogClock(zone_named("Europe/Paris"))
    assert _utc(clock, "2025-10-26 03:30:00 x")[11:16] == "02:30"
    assert _utc(clock, "2025-10-26 02:30:00 x")[11:16] == "00:30"


def test_a_year_is_taken_from_a_full_date_above_or_from_the_hint():
    assert _utc(LogClock(), "I0307 22:41:27.659000 1 api.py:194] x") is None
    clock = LogClock()
    clock.read(b"2025-03-07 22:00:00 x")
    assert (
        _utc(clock, "I0307 22:41:27.659000 1 api.py:194] x") == "2025-03-07T22:41:27.659000+00:00"
    )


def test_the_year_is_that_of_the_full_date_above_also_where_its_minute_was_read_before():
    clock = LogClock()
    for line in (b"2025-12-31 00:16:00", b"2026-03-02 00:16:00", b"2025-12-31 00:16:10"):
        clock.read(line)
    assert clock.read(b"Dec 31 00:17:00 n1 kernel: x") == clock.read(b"2025-12-31 00:17:00")


def test_january_after_december_is_of_the_next_year():
    clock = LogClock(year=2025)
    assert _utc(clock, "Dec 31 23:59:59 node kernel: x") == "2025-12-31T23:59:59+00:00"
    assert _utc(clock, "Jan  1 00:00:01 node kernel: x") == "2026-01-01T00:00:01+00:00"
    assert _utc(clock, "Jan  1 00:00:02 node kernel: x") == "2026-01-01T00:00:02+00:00"


@pytest.mark.parametrize("line", ["2025-13-01 00:00:00", "2025-02-30 00:00:00", "Foo 10 00:00:00"])
def test_impossible_dates_are_no_times(line):
    assert LogClock(year=2025).read(line.encode()) is None


def test_an_unknown_zone_is_refused():
    with pytest.raises(UsageError, match="'Mars/Base' is not a time zone; write an IANA name"):
        zone_named("Mars/Base")


@pytest.mark.parametrize("above", [b"", b"2025-01-21 09:15:10 hello"])
def test_seconds_of_three_digits_are_no_time_whatever_stands_above(above):
    clock, line = LogClock(), b"2025-01-21 09:15:598 train_acc 3"
    clock.read(above)
    assert clock.place(line) == (True, None)
    assert clock.read(line) is None
