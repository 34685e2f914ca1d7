"""Writes everything a simulated fleet leaves behind."""

from __future__ import annotations

from pathlib import Path

from goodput.synth.kubefiles import write_kube
from goodput.synth.nodefiles import write_kernel_logs, write_listings, write_typed
from goodput.synth.plan import Fleet
from goodput.synth.trainlogs import write_logs


def write_artefacts(fleet: Fleet, out: Path) -> None:
    """Fill kubernetes/, logs/, kernel/ and checkpoints/ (raw), and typed/ (for `import`)."""
    write_kube(fleet, out / "kubernetes")
    write_logs(fleet, out / "logs" / "pods")
    write_kernel_logs(fleet, out / "kernel")
    write_listings(fleet, out / "checkpoints")
    write_typed(fleet, out / "typed")
