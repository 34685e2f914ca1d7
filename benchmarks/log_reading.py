"""Reads training logs into step rows and evidence in Parquet; ripgrep with the same patterns.

python -m benchmarks.log_reading [--plain] FOLDER FILE...   what is measured
"""

from __future__ import annotations

import gc
import gzip
import io
import re
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks import training_logs
from benchmarks.processes import Use, run_module
from goodput.logs import gate, read_log
from goodput.logs.formats import load_formats
from goodput.logs.rows import Row, StepRows
from goodput.logs.signatures import load_signatures, unknown_error

# As much as a large job writes in a day, so that what a process takes to start counts little.
MEGABYTES, COPIES = 200, 6
_JOBS = 2
_ONE_LOG = 35_000_000


def measure(folder: Path) -> Iterator[tuple[str, Use, Use]]:
    """Name, our use and ripgrep's of each comparison; none where ripgrep is not installed."""
    ripgrep = shutil.which("rg")
    if ripgrep is None:
        print("benchmarks of logs are skipped: install ripgrep (rg)", file=sys.stderr)
        return
    patterns = _patterns(folder)
    written = training_logs.write(folder, MEGABYTES * 1_000_000)
    files = _copied(written, range(1, COPIES))
    # Half of the mixture is noise: of noise alone, as many bytes as of the mixture.
    noisy = [file for file in written if file.stem == "noise"]
    noise = _copied(noisy, range(COPIES, 3 * COPIES - 1))
    packed = [_packed(file) for file in written if file.stem in ("megatron", "noise")]
    packed = _copied(packed, range(1, COPIES))
    grep = partial(_run_ripgrep, ripgrep, patterns)
    name = f"read_{MEGABYTES * COPIES}_mb_of_logs"
    whole, part = grep(files), grep(noise)
    yield name, _read(folder, files), whole
    yield f"{name}_without_hyperscan", _read(folder, files, "--plain"), whole
    yield "read_logs_with_few_steps", _read(folder, noise), part
    yield "read_gzip_logs", _read(folder, packed), grep(packed, "-z")


def one_log(folder: Path) -> Use:
    """What `goodput classify` uses for one log of 35 MB."""
    path = folder / "job.log"
    with path.open("w", encoding="utf-8") as file:
        file.writelines(training_logs.text("mixed", _ONE_LOG))
    return run_module("goodput", "classify", "-o", "json", str(path))


def _read(folder: Path, files: Sequence[Path], *options: str) -> Use:
    return run_module("benchmarks.log_reading", *options, str(folder), *map(str, files))


def _patterns(folder: Path) -> Path:
    """The catalogue's expressions as ripgrep takes them: without names of groups."""
    signatures = [*load_signatures().signatures, unknown_error()]
    sources = {s.regex.source for s in signatures}
    sources |= {p.regex.source for f in load_formats() for p in f.patterns}
    path = folder / "patterns"
    plain = sorted({re.sub(r"\(\?P<\w+>", "(", s).replace("\\'", "'") for s in sources})
    path.write_text("\n".join(map(_in_bytes, plain)) + "\n", encoding="ascii")
    return path


def _in_bytes(source: str) -> str:
    """An expression with each character that is not ASCII as its bytes."""
    return re.sub(
        r"[^\x00-\x7f]",
        lambda found: "(?:" + "".join(rf"\x{byte:02X}" for byte in found[0].encode()) + ")",
        source,
    )


def _copied(files: Sequence[Path], numbers: range) -> list[Path]:
    """Each file under several names, without the room of as many."""
    copies = list(files)
    for number in numbers:
        for file in files:
            copy = file.with_name(f"{file.stem}-{number}{file.suffix}")
            copy.hardlink_to(file)
            copies.append(copy)
    return sorted(copies, key=lambda file: -file.stat().st_size)


def _packed(file: Path) -> Path:
    path = file.with_suffix(".log.gz")
    with file.open("rb") as plain, gzip.open(path, "wb", compresslevel=6) as packed:
        shutil.copyfileobj(plain, packed)
    return path


def _run_ripgrep(program: str, patterns: Path, files: Sequence[Path], *options: str) -> Use:
    # Bytes, as ours: in Unicode, ripgrep takes a hundred times as long for progress bars.
    words = [program, "-a", "--no-unicode", f"-j{_JOBS}", "-c", "-f", str(patterns)]
    words += [*options, *map(str, files)]
    started, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, check=True, stdout=subprocess.PIPE)
    seconds, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Use(seconds, cpu, after.ru_maxrss / 1024)


def _write_rows(folder: Path, file: Path) -> None:
    tables = read_log(file).tables
    steps, evidence = tables["log_steps"], tables["log_evidence"]
    assert isinstance(steps, StepRows)
    for name, rows in (("steps", pa.table(steps.columns())), ("evidence", _arrow(evidence))):
        if rows.num_rows:
            pq.write_table(rows, folder / f"{file.name}.log_{name}.parquet")


def _arrow(rows: Sequence[Row]) -> pa.Table:
    return pa.Table.from_pylist(list(rows))


def main(words: Sequence[str]) -> None:
    """Reads the files with as many processes as ripgrep has threads."""
    gc.disable()  # of a process that ends with its work, and of those that it starts
    is_plain = words[0] == "--plain"
    folder, *files = words[is_plain:]
    if is_plain:
        gate.HAS_NATIVE = False
    read_log(io.BytesIO(b"hello"))  # compiles what the processes share
    with ProcessPoolExecutor(_JOBS, mp_context=get_context("fork")) as pool:
        list(pool.map(partial(_write_rows, Path(folder)), map(Path, files)))


if __name__ == "__main__":
    # By its name: processes of a pool cannot be handed what __main__ holds.
    import_module("benchmarks.log_reading").main(sys.argv[1:])
