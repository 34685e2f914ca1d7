"""A log that is cut within a phase: one part shows its begin, a later one its end."""

import itertools

import pytest

DAY_TEXT = "2026-01-05T00:"
PHASES = 'select kind, start, "end" from observed.phases_log order by start'
BEGIN = "Restoring checkpoint from gs://bucket/checkpoints/100."
END = "Finished restoring checkpoint in 40.00 seconds from gs://bucket/checkpoints/100."
SAVING = "saving checkpoint at iteration     100 to /ckpt in torch_dist format"
SAVED = "  successfully saved checkpoint from iteration     100 to /ckpt [ t 1/8, p 1/1 ]"


def _part(*lines):
    """Seconds of the day and texts; the number of a step stands for its line."""
    texts = (
        (at, f"completed step: {t}, seconds: 10.0" if t in range(999) else t) for at, t in lines
    )
    return "".join(f"{DAY_TEXT}{at // 60:02d}:{at % 60:02d}Z {text}\n" for at, text in texts)


def _read(observed, parts, order=None):
    for number in order or range(len(parts)):
        observed.log(f"J/train.log.20260105-0{number}0000", parts[number], job="J", attempt=1)
    observed.build()
    return observed.rows(PHASES)


TWO = [_part((20, 99), (30, BEGIN)), _part((70, END), (90, 101))]
THREE = [TWO[0], _part((50, "waiting for storage")), TWO[1]]


def test_a_phase_over_two_parts_is_one(observed):
    assert _read(observed, TWO) == [("restore", 30, 70)]


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_a_phase_over_three_parts_is_one_in_whatever_order_they_come(observed, order):
    assert _read(observed, THREE, order) == [("restore", 30, 70)]


def test_parts_that_are_read_twice_give_it_once(observed):
    assert _read(observed, TWO, [0, 1, 1, 0]) == [("restore", 30, 70)]


def test_a_begin_that_never_ends_is_no_phase(observed):
    parts = [TWO[0], _part((90, 101), (100, 102))]
    assert _read(observed, parts) == []


def test_an_end_that_never_began_is_no_phase(observed):
    assert _read(observed, [_part((20, 99)), TWO[1]]) == []


def test_what_ends_after_steps_was_another_phase(observed):
    later = _part((70, 101), (80, 102), (85, END))
    assert _read(observed, [TWO[0], later]) == []


def test_what_begins_before_steps_ends_in_no_later_part(observed):
    earlier = _part((30, BEGIN), (40, 101), (50, 102))
    assert _read(observed, [earlier, _part((70, END), (90, 103))]) == []


def test_steps_of_a_part_between_part_begin_and_end(observed):
    between = _part((40, 101), (50, 102))
    assert _read(observed, [TWO[0], between, _part((70, END), (90, 103))]) == []


def test_a_whole_phase_after_a_cut_one_is_its_own(observed):
    parts = [*TWO, _part((100, BEGIN), (110, END), (130, 102))]
    assert _read(observed, parts) == [("restore", 30, 70), ("restore", 100, 110)]


def test_a_phase_of_another_attempt_does_not_end_this_one(observed):
    observed.log("J/train.log.20260105-000000", TWO[0], job="J", attempt=1)
    observed.log("J/train.log.20260105-060000", TWO[1], job="J", attempt=2)
    observed.build()
    assert observed.rows(PHASES) == []


def test_a_file_that_grew_shows_the_phase_whole(observed):
    observed.log("J/train.log", TWO[0], job="J", attempt=1)
    observed.log("J/train.log", TWO[0] + TWO[1], job="J", attempt=1)
    observed.build()
    assert observed.rows(PHASES) == [("restore", 30, 70)]


def test_a_save_that_training_waited_for_is_one_over_two_parts(observed):
    parts = [_part((30, SAVING)), _part((70, SAVED))]
    assert _read(observed, parts) == [("ckpt_save", 30, 70)]
    query = "select step, write_start, committed_at from observed.checkpoints_log"
    assert observed.rows(query) == [(100, 30, 70)]


def test_a_line_that_two_patterns_take_for_end_and_begin_is_a_begin(observed):
    text = _part(
        (30, "Restoring states from the checkpoint path at /ckpt/run-step=18-last"),
        (70, "Restored all states from the checkpoint at /ckpt/run-step=18-last"),
    )
    assert _read(observed, [text]) == [("restore", 30, 70)]
