"""Training logs of several frameworks, made up, the same on every run: mostly noise, as real ones.

Each kind of log repeats a page of lines; only step lines change. What a page holds is what the
framework and its libraries print: NCCL's INFO lines, timers, warnings, progress bars.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

START = datetime(2026, 3, 2, tzinfo=UTC)

_NCCL = (
    "gpu-{n:03d}:{p}:{p} [{r}] NCCL INFO Channel {c:02d}/16 : {r}[{r}] -> 1[1] via P2P/IPC/read\n"
    "gpu-{n:03d}:{p}:{p} [{r}] NCCL INFO Connected all rings\n"
    "gpu-{n:03d}:{p}:{p} [{r}] NCCL INFO comm 0x5581e0 rank {r} nranks 512 cudaDev {r}\n"
    "gpu-{n:03d}:{p}:{p} [{r}] NCCL INFO NET/IB : Using [0]mlx5_{r}:1/IB [RO]; OOB eth0\n"
)
_TIMERS = (
    "    forward-backward ...............................: (1007.21, 1012.94)\n"
    "    forward-compute ................................: (301.44, 330.12)\n"
    "    backward-compute ...............................: (602.18, 655.07)\n"
    "    batch-generator ................................: (6.21, 21.90)\n"
    "    grads-all-reduce ...............................: (11.35, 14.00)\n"
    "    optimizer-inner-step ...........................: (18.02, 19.44)\n"
)
_WARNING = (
    "/usr/lib/python3/dist-packages/torch/utils/checkpoint.py:87: FutureWarning: `torch.cpu.amp` is"
    " deprecated.\n  with torch.enable_grad(), device_autocast_ctx:\n"
)
_FAILURE = (
    "[rank3]: Traceback (most recent call last):\n"
    '[rank3]:   File "/opt/train.py", line 88, in train_step\n'
    "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB.\n"
)


def _stamp(step: int) -> str:
    return (START + timedelta(seconds=step)).strftime("%Y-%m-%d %H:%M:%S")


def _nccl(index: int) -> str:
    return _NCCL.format(n=index % 64, p=40000 + index % 8, r=index % 8, c=index % 16)


def megatron(step: int) -> str:
    """Megatron-LM with timers."""
    return (
        f" [{_stamp(step)}] iteration {step:8d}/ 1000000 | consumed samples: {step * 2048:12d} |"
        " elapsed time per iteration (ms): 1000.0 | learning rate: 1.000E-05 |"
        " global batch size:  2048 | lm loss: 2.654321E+00 | grad norm: 1.234 |\n" + _TIMERS * 4
    )


def torchtitan(step: int) -> str:
    """Torchtitan on eight ranks, between warnings."""
    line = (
        f"{_stamp(step)},441 - root - INFO - step: {step:5d}  loss:  3.4370  memory: 68.57GiB"
        "(86.69%)  tps: 6,785  mfu: 39.73%\n"
    )
    return f"0: {line}" + _WARNING * 6


def maxtext(step: int) -> str:
    """MaxText between compiler lines."""
    compiler = (
        "I0302 09:47:48.898413     139 compiler_base.cc:7540] END_TO_END stage duration: 10.63ms\n"
    )
    return (
        f"completed step: {step}, seconds: 1.001, TFLOP/s/device: 141.542, Tokens/s/device: 9098,"
        " total_weights: 196608, loss: 11.379\n" + compiler * 8
    )


def bars(step: int) -> str:
    """The HF Trainer: a progress bar drawn ten times a second, and losses."""
    clock = f"{step // 3600}:{step // 60 % 60:02d}:{step % 60:02d}"
    bar = "".join(
        f"\r {step % 100:2d}%|████▌     | {step * 10 + i}/1000000 [{clock}<2:59:53, 10.28it/s]"
        for i in range(10)
    )
    return f"{bar}\n{{'loss': 2.3369, 'grad_norm': 1.2, 'learning_rate': 1e-05, 'epoch': 0.3}}\n"


def noise(step: int) -> str:
    """A log in which NCCL says more than the training: one step line in four hundred."""
    head = f"{_stamp(step)} | step: {step} | loss=2.31\n" if step % 100 == 0 else ""
    return head + _nccl(step)


def mixed(step: int) -> str:
    """One job's log as a launcher collects it: steps, timers, NCCL, warnings."""
    return megatron(step) + "".join(_nccl(step + i) for i in range(8)) + _WARNING


KINDS: dict[str, Callable[[int], str]] = {
    "mixed": mixed,
    "megatron": megatron,
    "torchtitan": torchtitan,
    "maxtext": maxtext,
    "bars": bars,
    "noise": noise,
}


def text(kind: str, size: int) -> Iterator[str]:
    """A log of about that many bytes, which ends with a failure."""
    written = step = 0
    while written < size:
        step += 1
        page = KINDS[kind](step)
        written += len(page)
        yield page
    yield _FAILURE


def write(folder: Path, size: int) -> list[Path]:
    """A mixture of all kinds of about `size` bytes: half of it noise.

    Returns:
        The files, the largest first.
    """
    shares = {"noise": 0.5, "megatron": 0.15, "torchtitan": 0.15, "maxtext": 0.1, "bars": 0.1}
    files = []
    for kind, share in shares.items():
        path = folder / f"{kind}.log"
        with path.open("w", encoding="utf-8") as file:
            file.writelines(text(kind, int(size * share)))
        files.append(path)
    return files
