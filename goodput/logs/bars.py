"""Picks the progress bar that is the training and makes its positions grow over epochs."""

from __future__ import annotations

from collections.abc import Sequence

from goodput.logs.scan import Event

BAR = "bar"


def is_bar(event: Event) -> bool:
    """Whether the event is an update of a progress bar."""
    return event.pattern.event == "step" and event.pattern.covers == BAR


def training_bar(events: Sequence[Event]) -> list[Event]:
    """The updates of the bar that took longest, with positions that go on where a bar ended.

    A loop per epoch draws a bar per epoch; its steps count on from epoch to epoch. Downloads and
    loading loops draw bars, too, but short ones, and those over a data set do not count iterations.
    """
    taken: dict[int, float] = {}
    for event in [e for e in events if "rate" in e.fields] or events:
        total = _number(event, "total")
        taken[total] = max(taken.get(total, 0), _seconds(event))
    if not taken:
        return []
    total = max(taken, key=lambda t: (taken[t], t))
    return _continued([e for e in events if _number(e, "total") == total], total)


def _continued(events: Sequence[Event], total: int) -> list[Event]:
    base = last = 0
    result: list[Event] = []
    label: str | None = None
    first: int | None = None  # of the next record, where the bar was seen at its beginning
    for event in events:
        done, text = _number(event, "step"), str(event.fields.get("label", "")).strip()
        if done < last and (last >= total or (text != label and "poch" in text)):
            base += total
        if not done:
            first = base + 1
        elif done != last:
            if done > last and result and _is_same_second(event, result[-1]):
                first = _number(result.pop(), "first") or None
            event.fields["step"] = base + done
            if first:
                event.fields["first"] = first
            result.append(event)
            first = None
        last, label = done, text
    return result


def _is_same_second(event: Event, before: Event) -> bool:
    """Whether the bar shows the same time: of such updates only the last says something."""
    return event.fields.get("elapsed") == before.fields.get("elapsed")


def _number(event: Event, name: str) -> int:
    value = event.fields.get(name)
    return value if isinstance(value, int) else 0


def _seconds(event: Event) -> float:
    seconds = 0
    for part in str(event.fields.get("elapsed", "0")).split(":"):
        seconds = seconds * 60 + int(float(part or 0))
    return seconds
