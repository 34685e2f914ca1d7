"""The faults that can be injected, each as the sequence of things that happen to nodes and jobs.

A fault that needs a job in the middle of a step is tried again until it finds one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from goodput.synth.fleet import Attempt, Node
from goodput.synth.simulate import Simulation
from goodput.synth.trace import Ticket

TRIES = 4000
WATCHDOG_S = 600
STALE_AFTER_S = 600
BEAT_S = 60
HCA = "mlx5_core 0000:1a:00.0: Port: 1 Link DOWN"


class Injector:
    """Schedules faults into a simulation."""

    def __init__(self, sim: Simulation) -> None:
        self.sim = sim
        self.rng = sim.rng

    # ------------------------------------------------------------- scheduling

    def node_fault(self, when: int, kind: str, pick: Callable[[], Node | None]) -> None:
        """Inject a node fault at `when`, or as soon after as the picked node suits."""
        action = {
            "xid79": self.xid79,
            "ecc": self.ecc,
            "gsp": self.gsp,
            "link": self.link,
            "notready": self.notready,
            "maintenance": self.maintenance,
            "silent": self.silent,
            "thermal": self.thermal,
        }[kind]
        self._retry(when, lambda: self._try_node(kind, pick, action), TRIES)

    def job_fault(self, when: int, kind: str, pick: Callable[[], Attempt | None]) -> None:
        """Inject a job fault at `when`, or as soon after as the picked job suits."""
        action = {
            "oom_host": self.oom_host,
            "rollback": self.rollback,
            "corrupt": self.corrupt,
            "storage": self.storage,
            "cancel": self.cancel,
        }[kind]
        self._retry(when, lambda: self._try_job(kind, pick, action), TRIES)

    def _retry(self, when: int, attempt: Callable[[], bool], left: int) -> None:
        def act() -> None:
            if not attempt() and left:
                self._retry(self.sim.now + 7, attempt, left - 1)

        self.sim.at(when, act)

    def _try_node(
        self, kind: str, pick: Callable[[], Node | None], action: Callable[[Node], None]
    ) -> bool:
        node = pick()
        if node is None or node.busy_fault or node.state() != "available":
            return False
        if any(a.mode != "step" or not a.records for a in self.sim.on_node(node)):
            return False
        self.sim.trace.faults.append((self.sim.now, kind, node.name))
        action(node)
        return True

    def _try_job(
        self, kind: str, pick: Callable[[], Attempt | None], action: Callable[[Attempt], None]
    ) -> bool:
        attempt = pick()
        if attempt is None or attempt.mode != "step" or not attempt.records:
            return False
        if kind in ("rollback", "corrupt") and len(attempt.job.durable) < 4:
            return False
        if kind == "rollback" and len(attempt.records) < 8:
            return False
        self.sim.trace.faults.append((self.sim.now, kind, attempt.job.spec.name))
        action(attempt)
        return True

    # ------------------------------------------------------------ node faults

    def _kill_jobs(self, node: Node, cause: str, error: str) -> None:
        for attempt in self.sim.on_node(node):
            pod = self.sim.pod_on(attempt, node)
            self.sim.endings.traceback(attempt, pod.rank, error)
            self.sim.endings.crash(attempt, cause, self.rng.randint(1, 4), pod)

    def _xid(self, node: Node, pci: str, code: int, text: str) -> None:
        line = f"NVRM: Xid (PCI:{pci}): {code}, {text}"
        self.sim.trace.kernel.append((self.sim.now, node, line))

    def _condition(self, node: Node, kind: str, status: str, reason: str, cause: str) -> None:
        def put() -> None:
            node.conds[kind] = (status, reason)

        self.sim.machines.change(node, put, cause)

    def _repair(self, node: Node, action: str, start: int, end: int, planned: bool = False) -> None:
        """A repair ticket; at its end the conditions are gone, a minute later the cordon is."""
        sim = self.sim
        sim.trace.tickets.append(Ticket(node, "repair", action, planned, start, end))
        restarts = action != "reset"

        def begin() -> None:
            sim.machines.change(node, lambda: setattr(node, "repair", action))

        def down() -> None:
            self._condition(node, "Ready", "Unknown", "NodeStatusUnknown", "")

        def finish() -> None:
            def put() -> None:
                node.repair = ""
                node.conds.clear()
                node.boot += restarts

            sim.machines.change(node, put)
            if restarts:
                sim.trace.node_events.append((sim.now, node, "Rebooted", "Warning"))

        def back() -> None:
            sim.machines.cordon(node, False)
            node.busy_fault = False

        sim.at(start, begin)
        if restarts:
            sim.at(start + 50, down)
        sim.at(end, finish)
        sim.at(end + 60, back)

    def _sick(
        self, node: Node, cause: str, reason: str, found: int, act: str, wait: int, take: int
    ) -> None:
        """Health agent flags the node, remediation cordons it, then a repair follows."""
        sim, now = self.sim, self.sim.now
        node.busy_fault = True
        kind = "AcceleratedHardwareReady"
        sim.at(now + found, lambda: self._condition(node, kind, "False", reason, cause))
        sim.at(now + found + 60, lambda: sim.machines.cordon(node, True))
        self._repair(node, act, now + found + wait, now + found + wait + take)

    def xid79(self, node: Node) -> None:
        """A GPU falls off the bus; reboot."""
        pci = f"0000:{self.rng.choice(('18', '2a', '3a', '5d', '9a', 'ab'))}:00"
        self._xid(node, pci, 79, "pid='<unknown>', name=<unknown>, GPU has fallen off the bus.")
        self._kill_jobs(
            node, "gpu.lost", "RuntimeError: CUDA error: no CUDA-capable device is detected"
        )
        self._sick(
            node, "gpu.lost", "NvidiaXID79Error", 20, "reboot", 600, self.rng.randint(380, 620)
        )

    def ecc(self, node: Node) -> None:
        """An uncorrectable memory error whose row cannot be remapped; the board is replaced."""
        text = "pid=41233, name=python3, DBE (double bit error) ECC Error detected"
        self._xid(node, "0000:5d:00", 48, text)
        text = "pid='<unknown>', name=<unknown>, Row remapper: failed to remap row"
        self._xid(node, "0000:5d:00", 64, text)
        error = "RuntimeError: CUDA error: uncorrectable ECC error encountered"
        self._kill_jobs(node, "gpu.mem", error)
        self._sick(
            node,
            "gpu.mem",
            "NvidiaDoubleBitError",
            20,
            "replace",
            1800,
            self.rng.randint(14000, 20000),
        )

    def gsp(self, node: Node) -> None:
        """The GPU firmware stops answering; the GPU is reset."""
        text = (
            "pid=8841, name=python3, Timeout after 45s of waiting for RPC response from GPU5 GSP!"
        )
        self._xid(node, "0000:9a:00", 119, text)
        error = "RuntimeError: CUDA error: unknown error"
        self._kill_jobs(node, "gpu.driver", error)
        self._sick(
            node, "gpu.driver", "NvidiaXID119Error", 20, "reset", 600, self.rng.randint(120, 240)
        )

    def link(self, node: Node) -> None:
        """A fabric link goes down: the gang hangs until the collective watchdog fires."""
        sim, now = self.sim, self.sim.now
        node.busy_fault = True
        sim.trace.kernel.append((now, node, HCA))
        self._condition(node, "IbLinkDown", "True", "LinkDown", "net.fabric")
        for attempt in sim.on_node(node):
            attempt.mode, attempt.hung = "dying", True
            sim.at(now + WATCHDOG_S, partial(self._watchdog, attempt))
            over = now + WATCHDOG_S + self.rng.randint(2, 5)
            sim.at(over, partial(self._hung, attempt, "net.fabric", 134))
        up = now + self.rng.randint(1500, 2400)
        sim.trace.kernel.append((up, node, "mlx5_core 0000:1a:00.0: Port: 1 Link UP"))

        def clear() -> None:
            sim.machines.change(node, node.conds.clear)
            node.busy_fault = False

        sim.at(up, clear)

    def _watchdog(self, attempt: Attempt) -> None:
        for rank in range(attempt.job.spec.pods):
            line = (
                f"[rank{rank * 8}]:[E ProcessGroupNCCL.cpp:616] [Rank {rank * 8}] "
                "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=48211, "
                "OpType=ALLREDUCE, NumelIn=65536, NumelOut=65536, Timeout(ms)=600000) ran for "
                "600014 milliseconds before timing out."
            )
            attempt.lines.append((self.sim.now, rank, line))

    def _hung(self, attempt: Attempt, cause: str, code: int, stuck: Node | None = None) -> None:
        self.sim.endings.end(attempt, "failed", cause, code, tail="hang", stuck=stuck)

    def notready(self, node: Node) -> None:
        """The host is lost: its gang hangs until its pod is evicted; a new node follows."""
        sim, now = self.sim, self.sim.now
        node.busy_fault = True
        self._condition(node, "Ready", "Unknown", "NodeStatusUnknown", "host.lost")
        for attempt in sim.on_node(node):
            attempt.mode, attempt.hung = "dying", True
            over = now + 345 + self.rng.randint(1, 5)
            pod = sim.pod_on(attempt, node)
            pod.disruption = (now + 345, "DeletionByTaintManager", "node unreachable")
            sim.at(over, partial(self._hung, attempt, "host.lost", 143, node))
        gone = now + self.rng.randint(1500, 2000)
        sim.at(gone, lambda: sim.machines.remove(node))
        sim.at(gone + self.rng.randint(900, 1500), lambda: sim.machines.replace(node))

    def maintenance(self, node: Node) -> None:
        """Planned kernel upgrade: cordon, drain five minutes later, reboot, uncordon."""
        sim, now = self.sim, self.sim.now
        node.busy_fault = True
        sim.machines.cordon(node, True, "plat.maint")
        end = now + 300 + self.rng.randint(1500, 2400)
        self._retry(now + 300, lambda: self._drain(node, end), TRIES)

    def _drain(self, node: Node, end: int) -> bool:
        sim = self.sim
        if any(a.mode != "step" or not a.records for a in sim.on_node(node)):
            return False
        start, reboot = sim.now, sim.now + 120
        sim.trace.tickets.append(Ticket(node, "drain", "", True, start, reboot))
        sim.machines.change(node, lambda: setattr(node, "draining", True))
        for attempt in sim.on_node(node):
            pod = sim.pod_on(attempt, node)
            pod.disruption = (start, "EvictionByEvictionAPI", "Eviction API: evicting")
            sim.endings.end(attempt, "evicted", "plat.maint", 143)

        def done() -> None:
            sim.machines.change(node, lambda: setattr(node, "draining", False))

        self._repair(node, "reboot", reboot, max(end, reboot + 900), planned=True)
        sim.at(reboot, done)
        return True

    def silent(self, node: Node) -> None:
        """The required health check stops reporting for an hour or two."""
        sim = self.sim
        last = sim.now // BEAT_S * BEAT_S
        back = (sim.now + self.rng.randint(4000, 8000)) // BEAT_S * BEAT_S
        node.busy_fault = True
        sim.trace.silent.append((node, last, back))

        def begin() -> None:
            sim.machines.change(node, lambda: setattr(node, "stale", True), "unk.stale")

        def finish() -> None:
            sim.machines.change(node, lambda: setattr(node, "stale", False))
            node.busy_fault = False

        sim.at(last + STALE_AFTER_S, begin)
        sim.at(back, finish)

    def thermal(self, node: Node) -> None:
        """A node runs hot: its gang slows down, nothing breaks."""
        sim = self.sim

        def put(on: bool) -> None:
            node.hot = on
            node.busy_fault = on
            if on:
                node.conds["GpuThermalThrottle"] = ("True", "HwThermalSlowdown")
            else:
                node.conds.pop("GpuThermalThrottle", None)

        sim.machines.change(node, lambda: put(True))
        line = "NVRM: GPU at PCI:0000:3a:00: HW slowdown active, thermal violation"
        sim.trace.kernel.append((sim.now, node, line))
        until = sim.now + self.rng.randint(9000, 14000)
        sim.at(until, lambda: sim.machines.change(node, lambda: put(False)))

    # ------------------------------------------------------------- job faults

    def oom_host(self, attempt: Attempt) -> None:
        """The kernel kills a trainer that outgrew its memory limit."""
        pod = attempt.pods[-1]
        assert pod.node is not None
        line = (
            "Memory cgroup out of memory: Killed process 51873 (python3) "
            "total-vm:1187264kB, anon-rss:1048092kB"
        )
        self.sim.trace.kernel.append((self.sim.now, pod.node, line))
        self.sim.endings.crash(attempt, "app.oom_host", 3, pod, code=137, reason="OOMKilled")

    def rollback(self, attempt: Attempt) -> None:
        """A loss spike makes the trainer go back."""
        self.sim.trainer.rollback(attempt)

    def corrupt(self, attempt: Attempt) -> None:
        """The firmware of a GPU hangs, and the newest checkpoint turns out unreadable."""
        attempt.job.corrupt_next = True
        node = attempt.pods[-1].node
        assert node is not None
        self.gsp(node)

    def storage(self, attempt: Attempt) -> None:
        """The next save takes a quarter of an hour longer because the object store throttles."""
        attempt.job.stall_next = True

    def cancel(self, attempt: Attempt) -> None:
        """The owner deletes the job."""
        self.sim.endings.end(attempt, "cancelled", "user.cancel", 143)
