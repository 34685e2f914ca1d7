"""The CronJobs' manifests: they resolve, they fit Kubernetes' schemas, and they grant little."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import kubernetes_validate
import pytest
import yaml
from fenced import blocks

from goodput import errors
from pipelines import collect, nightly, weekly
from pipelines.job import Site

ROOT = Path(__file__).parents[2]
K8S = ROOT / "pipelines" / "k8s"
SNAPSHOT = ROOT / "pipelines" / "snapshot.sh"
FOLDERS = ["base", *(f"overlays/example{more}" for more in ("", "-bucket", "-slack"))]
JOBS = {"collect": collect, "nightly": nightly, "weekly": weekly}


def resolve(folder):
    """What `kubectl apply -k` would send, resolved by kubectl itself without a cluster."""
    kubectl = Path(sys.executable).with_name("kubectl")
    text = subprocess.run(
        [kubectl, "kustomize", folder], check=True, capture_output=True, text=True
    ).stdout
    return list(yaml.safe_load_all(text))


@pytest.fixture(scope="module")
def objects():
    return resolve(K8S / "overlays" / "example")


def of_kind(objects, kind):
    return {item["metadata"]["name"]: item for item in objects if item["kind"] == kind}


@pytest.fixture(scope="module")
def cronjobs(objects):
    return of_kind(objects, "CronJob")


def job_spec(cronjob):
    return cronjob["spec"]["jobTemplate"]["spec"]


def pod_spec(cronjob):
    return job_spec(cronjob)["template"]["spec"]


def containers(cronjob):
    pod = pod_spec(cronjob)
    return pod.get("initContainers", []) + pod["containers"]


@pytest.mark.parametrize("folder", FOLDERS)
@pytest.mark.parametrize("version", ["1.32", "1.37"])
def test_every_object_fits_the_schema_of_old_and_new_kubernetes(folder, version):
    for item in resolve(K8S / folder):
        kubernetes_validate.validate(item, version, strict=True)


def test_the_schema_check_would_see_a_misspelt_field(cronjobs):
    broken = {**cronjobs["goodput-nightly"]}
    broken["spec"] = {**broken["spec"], "concurencyPolicy": "Forbid"}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(broken, "1.37", strict=True)


def test_there_is_one_cronjob_a_script(cronjobs):
    assert sorted(cronjobs) == [f"goodput-{name}" for name in sorted(JOBS)]


@pytest.mark.parametrize("name", JOBS)
def test_a_cronjob_runs_its_script_with_the_mounted_config(cronjobs, name):
    pod = pod_spec(cronjobs[f"goodput-{name}"])
    [container] = pod["containers"]
    assert container["args"] == [
        "-m",
        f"pipelines.{name}",
        "--config",
        "/etc/goodput/pipelines.toml",
    ]
    assert callable(JOBS[name].main)


@pytest.mark.parametrize("name", JOBS)
def test_a_cronjob_is_never_doubled_and_catches_up_in_utc(cronjobs, name):
    spec = cronjobs[f"goodput-{name}"]["spec"]
    assert spec["timeZone"] == "Etc/UTC"
    assert spec["concurrencyPolicy"] == "Forbid"
    assert spec["startingDeadlineSeconds"] >= 600
    assert job_spec(cronjobs[f"goodput-{name}"])["backoffLimit"] == 2
    assert job_spec(cronjobs[f"goodput-{name}"])["activeDeadlineSeconds"] > 0


@pytest.mark.parametrize("name", JOBS)
def test_a_failure_that_would_repeat_is_not_retried(cronjobs, name):
    ignore, fail = job_spec(cronjobs[f"goodput-{name}"])["podFailurePolicy"]["rules"]
    assert ignore == {
        "action": "Ignore",
        "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}],
    }
    assert fail == {
        "action": "FailJob",
        "onExitCodes": {
            "containerName": name,
            "operator": "In",
            "values": [
                errors.UsageError.exit_code,
                errors.CheckFailed.exit_code,
                errors.NoData.exit_code,
            ],
        },
    }


@pytest.mark.parametrize("name", JOBS)
def test_pods_fit_the_restricted_pod_security_standard(cronjobs, name):
    cronjob = cronjobs[f"goodput-{name}"]
    context = pod_spec(cronjob)["securityContext"]
    assert context["runAsNonRoot"] is True
    assert context["runAsUser"] > 10_000
    assert context["seccompProfile"] == {"type": "RuntimeDefault"}
    for container in containers(cronjob):
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }


@pytest.mark.parametrize("name", JOBS)
def test_memory_is_bounded_and_scratch_space_too(cronjobs, name):
    cronjob = cronjobs[f"goodput-{name}"]
    for container in containers(cronjob):
        resources = container["resources"]
        assert resources["requests"]["memory"] == resources["limits"]["memory"]
    for volume in pod_spec(cronjob)["volumes"]:
        assert "emptyDir" not in volume or volume["emptyDir"]["sizeLimit"]


def test_only_the_collector_gets_a_token(cronjobs):
    assert {
        name: (pod_spec(item)["serviceAccountName"], pod_spec(item)["automountServiceAccountToken"])
        for name, item in cronjobs.items()
    } == {
        "goodput-collect": ("goodput-collect", True),
        "goodput-nightly": ("goodput-report", False),
        "goodput-weekly": ("goodput-report", False),
    }


def test_the_only_binding_is_the_collectors_in_the_sites_namespace(objects):
    [binding] = of_kind(objects, "ClusterRoleBinding").values()
    assert binding["roleRef"]["name"] == "goodput-collect"
    assert binding["subjects"] == [
        {"kind": "ServiceAccount", "name": "goodput-collect", "namespace": "goodput"}
    ]
    assert not of_kind(objects, "RoleBinding")


def snapshot_kinds():
    """The kinds in the loop of snapshot.sh, as (group, resource)."""
    loop = SNAPSHOT.read_text().split("for kind in", 1)[1].split("; do", 1)[0]
    words = [word for word in loop.replace("\\\n", " ").split() if word]
    return {(group, resource) for resource, _, group in (word.partition(".") for word in words)}


def test_the_collector_may_list_exactly_what_the_guide_says(objects):
    [role] = of_kind(objects, "ClusterRole").values()
    guide, _ = blocks("docs/guides/collect-from-kubernetes.md", "yaml")
    assert role["rules"] == yaml.safe_load(guide)["rules"]


def test_every_cronjob_mounts_the_generated_config(objects, cronjobs):
    [config] = of_kind(objects, "ConfigMap")
    for item in cronjobs.values():
        [mounted] = [v["configMap"]["name"] for v in pod_spec(item)["volumes"] if "configMap" in v]
        assert mounted == config


@pytest.mark.parametrize("folder", ["base", "overlays/example"])
def test_the_config_names_only_folders_that_are_mounted(cronjobs, folder):
    site = Site.load(K8S / folder / "pipelines.toml")
    paths = [site.settings.lake, str(site.policy.reports), str(site.policy.state)]
    paths += [path for source in site.settings.source for path in source.get("paths", [])]
    [container] = pod_spec(cronjobs["goodput-collect"])["containers"]
    mounts = tuple(mount["mountPath"] for mount in container["volumeMounts"])
    assert [path for path in paths if not path.startswith(mounts)] == []


def test_the_sender_reads_reports_and_one_secret_and_nothing_else():
    send = of_kind(resolve(K8S / "overlays" / "example-slack"), "CronJob")["goodput-send"]
    pod = pod_spec(send)
    [container] = pod["containers"]
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert [mount["readOnly"] for mount in container["volumeMounts"]] == [True]
    secrets = [one for one in container["env"] if "valueFrom" in one]
    assert [one["name"] for one in secrets] == ["WEBHOOK"]
    assert job_spec(send)["backoffLimit"] == 0


def test_the_image_runs_as_the_user_the_pods_ask_for(cronjobs):
    dockerfile = (ROOT / "pipelines" / "image" / "Dockerfile").read_text()
    context = pod_spec(cronjobs["goodput-collect"])["securityContext"]
    assert f"\nUSER {context['runAsUser']}:{context['runAsGroup']}\n" in dockerfile
    sources = [line.split()[1:-1] for line in dockerfile.splitlines() if line.startswith("COPY ")]
    copied = [name for names in sources for name in names if not name.startswith(("--", "/"))]
    assert [name for name in copied if not (ROOT / name).exists()] == []


def fake_kubectl(folder, body):
    """A PATH whose kubectl is a shell script."""
    tool = folder / "bin" / "kubectl"
    tool.parent.mkdir()
    tool.write_text(f"#!/bin/sh\n{body}\n")
    tool.chmod(0o755)
    return {**os.environ, "PATH": f"{tool.parent}:/usr/bin:/bin"}


def test_a_snapshot_keeps_whole_lists_and_names_what_it_left_out(tmp_path):
    env = fake_kubectl(tmp_path, 'echo "{\\"of\\": \\"$2\\"}"; [ "$2" != pods ]')
    done = subprocess.run(
        [SNAPSHOT, tmp_path / "dump"], env=env, capture_output=True, text=True, check=True
    )
    files = sorted(path.name for path in (tmp_path / "dump").iterdir())
    assert len(files) == len(snapshot_kinds()) - 1
    assert "pods.json" not in files
    assert (tmp_path / "dump" / "nodes.json").read_text() == '{"of": "nodes"}\n'
    assert done.stderr == "left out: pods\n"


def test_a_snapshot_of_nothing_says_so_with_the_exit_code_of_an_unreachable_source(tmp_path):
    env = fake_kubectl(tmp_path, "exit 1")
    done = subprocess.run(
        [SNAPSHOT, tmp_path / "dump"], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == errors.SourceUnreachable.exit_code
    assert done.stderr.endswith("is kubectl pointed at the cluster?\n")


def test_a_lake_in_a_bucket_has_an_identity_and_keeps_its_copies_on_the_volume():
    objects = resolve(K8S / "overlays" / "example-bucket")
    [config] = of_kind(objects, "ConfigMap").values()
    assert tomllib.loads(config["data"]["goodput.toml"])["lake"].startswith("s3://")
    assert tomllib.loads(config["data"]["pipelines.toml"])["state"] == "/data/state"
    for account in of_kind(objects, "ServiceAccount").values():
        assert list(account["metadata"]["annotations"]) == ["eks.amazonaws.com/role-arn"]
    for cronjob in of_kind(objects, "CronJob").values():
        [container] = containers(cronjob)
        variables = {item["name"]: item["value"] for item in container["env"]}
        mounts = [mount["mountPath"] for mount in container["volumeMounts"]]
        assert variables["XDG_CACHE_HOME"].startswith("/data/")
        assert "/data" in mounts
