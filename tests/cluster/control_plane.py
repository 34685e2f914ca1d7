"""Starts a real control plane on the loopback, runs a command against it, and stops it again.

etcd, kube-apiserver with RBAC, the controller that finds lost nodes, and a kubelet that only shows
logs. The command finds them by the environment:

    GOODPUT_TEST_KUBECONFIG    the administrator's way in
    GOODPUT_TEST_ETCD          etcd, for tests that let the API server forget old versions
    GOODPUT_TEST_KUBELET_PORT  of the kubelet
    GOODPUT_TEST_LOGS          the folder of logs that it shows: <namespace>_<pod>_<container>

usage: control_plane.py FOLDER_OF_BINARIES COMMAND...
"""

import json
import os
import secrets
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from goodput.synth.api_server import log_text

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from cluster_servers import write_kubeconfig

# Short enough to wait for, long enough for a test that lists its events.
EVENT_TTL = "30s"
_PATIENCE_S = 90


def main(binaries: Path, command: list[str]) -> int:
    """Runs the command between start and stop; returns its exit code."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        plane = ControlPlane(binaries, Path(folder), stack)
        return subprocess.run(command, env={**os.environ, **plane.start()}, check=False).returncode


class ControlPlane:
    """The processes, which end with the stack."""

    def __init__(self, binaries: Path, folder: Path, stack: ExitStack) -> None:
        self._binaries = binaries
        self._folder = folder
        self._stack = stack
        self._token = secrets.token_hex(16)

    def start(self) -> dict[str, str]:
        """Starts all of them and returns the environment that names them."""
        etcd = self._start_etcd()
        kubeconfig = self._start_api_server(etcd)
        self._run(
            str(self._binaries / "kube-controller-manager"),
            f"--kubeconfig={kubeconfig}",
            "--controllers=nodelifecycle",
            "--leader-elect=false",
            "--node-monitor-period=1s",
            "--node-monitor-grace-period=8s",
            "--port=0",
            "--secure-port=0",
        )
        logs = self._folder / "logs"
        logs.mkdir()
        return {
            "GOODPUT_TEST_KUBECONFIG": str(kubeconfig),
            "GOODPUT_TEST_ETCD": etcd,
            "GOODPUT_TEST_KUBELET_PORT": str(self._start_kubelet(logs)),
            "GOODPUT_TEST_LOGS": str(logs),
        }

    def _start_etcd(self) -> str:
        client, peer = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
        self._run(
            "etcd",
            f"--data-dir={self._folder / 'etcd'}",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            "--log-level=error",
        )
        return client

    def _start_api_server(self, etcd: str) -> Path:
        port = free_port()
        key = self._folder / "sa.key"
        subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, capture_output=True)
        tokens = self._folder / "tokens.csv"
        tokens.write_text(f'{self._token},admin,1,"system:masters"\n')
        self._run(
            str(self._binaries / "kube-apiserver"),
            f"--etcd-servers={etcd}",
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            f"--secure-port={port}",
            "--insecure-port=0",
            f"--cert-dir={self._folder / 'certs'}",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-signing-key-file={key}",
            f"--service-account-key-file={key}",
            f"--token-auth-file={tokens}",
            "--authorization-mode=RBAC",
            "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition,Priority",
            "--endpoint-reconciler-type=none",
            f"--event-ttl={EVENT_TTL}",
        )
        url = f"https://127.0.0.1:{port}"
        self._wait_until_ready(url)
        path = self._folder / "kubeconfig"
        authority = self._folder / "certs" / "apiserver.crt"
        write_kubeconfig(path, url, {"certificate-authority": str(authority)}, self._token)
        return path

    def _wait_until_ready(self, url: str) -> None:
        context = ssl._create_unverified_context()
        request = urllib.request.Request(
            f"{url}/readyz", headers={"Authorization": f"Bearer {self._token}"}
        )
        until = time.monotonic() + _PATIENCE_S
        while True:
            try:
                with urllib.request.urlopen(request, context=context, timeout=5):
                    return
            except OSError:
                if time.monotonic() > until:
                    log = (self._folder / "kube-apiserver.log").read_text(errors="replace")
                    raise SystemExit(f"kube-apiserver did not start:\n{log[-3000:]}") from None
                time.sleep(0.25)

    def _start_kubelet(self, logs: Path) -> int:
        certificate, key = self._folder / "kubelet.crt", self._folder / "kubelet.key"
        words = ("-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=kubelet")
        subprocess.run(
            ["openssl", "req", *words, "-keyout", key, "-out", certificate],
            check=True,
            capture_output=True,
        )
        kubelet = Kubelet(logs)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        kubelet.socket = context.wrap_socket(kubelet.socket, server_side=True)
        threading.Thread(target=kubelet.serve_forever, daemon=True).start()
        self._stack.callback(kubelet.shutdown)
        return int(kubelet.server_address[1])

    def _run(self, *words: str) -> None:
        log = self._stack.enter_context((self._folder / f"{Path(words[0]).name}.log").open("wb"))
        process = subprocess.Popen(words, stdout=log, stderr=subprocess.STDOUT)

        def stop() -> None:
            process.terminate()
            process.wait(30)

        self._stack.callback(stop)


class Kubelet(ThreadingHTTPServer):
    """Shows the logs of a folder, as the API server asks for them."""

    daemon_threads = True

    def __init__(self, logs: Path) -> None:
        super().__init__(("127.0.0.1", 0), _KubeletHandler)
        self.logs = logs


class _KubeletHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Kubelet

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        parameters = {name: values[0] for name, values in parse_qs(url.query).items()}
        name = url.path.removeprefix("/containerLogs/").replace("/", "_")
        file = self.server.logs / name
        runs = json.loads(file.read_text()) if file.is_file() else []
        wanted = runs[-2:-1] if parameters.get("previous") == "true" else runs[-1:]
        if wanted:
            self.reply(200, log_text(wanted[0], parameters))
        else:
            self.reply(400, "container is waiting to start")

    def reply(self, status: int, text: str) -> None:
        data = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def free_port() -> int:
    """A port of the loopback that nobody listens on."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


if __name__ == "__main__":
    if len(sys.argv) < 3:
        raise SystemExit(__doc__)
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
