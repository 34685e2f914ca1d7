"""Every Kubernetes object of a simulated fleet."""

from __future__ import annotations

from goodput.synth.kubemeta import Timeline
from goodput.synth.kubenodes import node_timeline
from goodput.synth.kubepods import pod_timeline
from goodput.synth.kubeworkloads import job_timelines
from goodput.synth.simulate import Simulation


def timelines(sim: Simulation) -> list[Timeline]:
    """Every object of the simulation."""
    rows = [node_timeline(n, sim.pools[n.pool]) for n in sim.all_nodes]
    rows += [pod_timeline(p) for p in sim.pods if p.after is None]
    for job in sim.jobs:
        rows += job_timelines(job)
    return rows
