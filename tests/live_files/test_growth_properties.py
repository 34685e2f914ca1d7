"""However a log grew between runs, what counts in the end is what one reading of it gives."""

import tempfile
from pathlib import Path

from collector_runs import Runs, put
from hypothesis import example, given, settings
from hypothesis import strategies as st


def _stamp(second):
    return f"2026-03-02T00:{second // 60:02d}:{second % 60:02d}Z"


_LINES = {
    "step": lambda n: f"{_stamp(n * 10)} completed step: {n}, seconds: 10.0\n",
    "bar": lambda n: f"\r{n}%|#| {n}/100 [00:{n:02d}<10:00, 1.00s/it]",
    "bar line": lambda n: f"{_stamp(n * 10)} {n}%|#| {n}/100 [00:{n:02d}<10:00, 1.00s/it]\n",
    "words": lambda n: f"{_stamp(n * 10)} INFO queue depth {n}\n",
    "banner": lambda _: "using world size: 8, data-parallel size: 8\n",
    "error": lambda n: f"{_stamp(n * 10)} [rank{n}]: torch.OutOfMemoryError: CUDA out of memory\n",
    "empty": lambda _: "\n",
}


def _counted(runs):
    """The rows that 05_observed takes: of logs that are not replaced, the newest of each line."""
    replaced = set(runs.rows("log_reads", "replaces"))
    newest = {}
    for log_id, line, *row in runs.rows(
        "log_steps", "log_id", "line", "first", "last", "started_at", "ended_at"
    ):
        if (log_id,) not in replaced:
            newest.setdefault((log_id, line), {})[tuple(row[:2])] = tuple(row)
    return sorted((line, *row) for (_, line), rows in newest.items() for row in rows.values())


@settings(max_examples=25)
@example(kinds=["banner", "bar line", "step"], cuts=[(83, True)])  # a bar cut off, then quiet
@example(kinds=["step", "bar"], cuts=[(76, True), (174, False)])  # quiet within a bar, then on
@given(
    kinds=st.lists(st.sampled_from(sorted(_LINES)), min_size=1, max_size=30),
    cuts=st.lists(st.tuples(st.integers(0, 2000), st.booleans()), max_size=4),
)
def test_growth_in_any_pieces(kinds, cuts):
    text = "".join(_LINES[kind](n) for n, kind in enumerate(kinds, start=1)).encode()
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "rank-0.log"
        grown = Runs(Path(folder) / "grown")
        for number, (cut, is_quiet) in enumerate(sorted(cuts), start=1):
            put(log, text[: min(cut, len(text))], at=number * 10_000)
            grown.logs(log, at=number * 10_000 + (5000 if is_quiet else 5))
        put(log, text, at=90_000)
        grown.logs(log, at=99_000)
        once = Runs(Path(folder) / "once")
        once.logs(log, at=99_000)
        assert _counted(grown) == _counted(once)
        assert grown.logs(log, at=99_500) == {}
