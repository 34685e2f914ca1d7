"""The tables of reasons, codes and Xids hold only what the accounting knows."""

import csv
import re

import pytest

from goodput._resources import CATALOG_KEYS, catalog_dir, catalog_rows
from goodput.logs.findings import classes
from goodput.logs.signatures import ROLES
from goodput.sources.prometheus_queries import load_queries

TABLES = ("k8s_reasons", "exit_codes", "xid", "sxid")


def _rows(name):
    with (catalog_dir() / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("name", TABLES)
def test_classes_roles_and_strengths_are_known(name):
    for row in _rows(name):
        if row["class"] and not row["class"].endswith(".csv"):
            # The Xid tables say how sure it is that hardware is at fault.
            assert row["domain"] == classes()[row["class"]].domain or "xid" in name, row
            assert row["role"] in ROLES, row
            assert row["strength"] in {"0", "1", "2", "3"}, row


@pytest.mark.parametrize("name", CATALOG_KEYS)
def test_rows_are_told_apart_by_their_key(name):
    assert len(catalog_rows(name, (catalog_dir(),))) == len(_rows(name))


@pytest.mark.parametrize(
    ("condition", "status", "failure_class"),
    [
        ("KernelDeadlock", "True", "host.kernel"),  # node-problem-detector
        ("AcceleratedHardwareReady", "False", "gpu.mem"),  # EKS node monitoring agent, one reason
        ("FrequentContainerdRestart", "True", "host.runtime"),  # GKE
        ("GpuRowRemap", "True", "gpu.mem"),  # OKE
        ("RdmaLinkFlapping", "True", "net.fabric"),
        ("SysLogsGPUFallenOff", "True", "gpu.lost"),  # NVSentinel
        ("GpuNvswitchFatalWatch", "True", "gpu.nvlink"),
        ("accelerator-nvidia-remapped-rows", "True", "gpu.mem"),  # gpud
        ("GPUMissing", "True", "gpu.lost"),  # AKS
    ],
)
def test_the_vocabularies_of_other_agents_are_there(condition, status, failure_class):
    found = {
        row["class"]
        for row in _rows("k8s_reasons")
        if (row["scope"], row["type"], row["bad_status"]) == ("node_condition", condition, status)
    }
    assert failure_class in found


@pytest.mark.parametrize(
    ("type_", "reason", "failure_class"),
    [
        ("*", "KernelOops", "host.kernel"),  # node-problem-detector
        ("*", "OOMKilling", "app.oom_host"),
        ("AcceleratedHardwareReady", "NvidiaThermalError", "gpu.thermal"),  # EKS
        ("NetworkingReady", "MissingDefaultRoutes", "net.eth"),
        ("*", "SpotInterrupted", "plat.spot"),  # Karpenter
        ("*", "DeletingNode", "host.lost"),  # cloud controllers
    ],
)
def test_so_are_their_events(type_, reason, failure_class):
    found = {
        row["class"]
        for row in _rows("k8s_reasons")
        if (row["scope"], row["type"], row["reason"]) == ("event", type_, reason)
    }
    assert found == {failure_class}


METRICS = [row for row in _rows("k8s_reasons") if row["scope"] == "metric"]
# Corrected, sent again, or only measured: NVIDIA and AWS call none of them a failure.
NO_FAILURE = {
    "gpu_ecc_correctable",
    "gpu_rows_remapped_correctable",
    "gpu_nvlink_crc_errors",
    "gpu_nvlink_replays",
    "gpu_pcie_replays",
    "ib_symbol_errors",
    "ib_port_errors",
    "efa_dropped_packets",
}


def test_each_counter_means_a_failure_by_a_dated_source_or_none():
    counters = {query.name for query in load_queries() if query.kind == "counter"}
    flags = {"gpu_row_remap_failure", "gpu_row_remap_pending"}
    assert {row["reason"] for row in METRICS} == counters - NO_FAILURE | flags
    assert all(re.search(r"; \d{4}-\d\d-\d\d$", row["notes"]) for row in METRICS)


def test_what_mends_itself_is_no_failure():
    mild = {row["reason"] for row in METRICS if row["role"] == "info"}
    assert mild == {"gpu_row_remap_pending", "ib_link_recoveries"}
    assert {row["strength"] for row in METRICS if row["role"] == "info"} == {"0"}
