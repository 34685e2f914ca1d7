"""A real S3 server on this machine, for tests: SeaweedFS, one process in a folder of its own."""

import json
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyarrow import fs as pafs

_KEY = "tests"
_SECRET = "not-a-secret"
_PATIENCE_SECONDS = 60


@dataclass(frozen=True)
class S3Server:
    """Where the server listens, and how to address what is in it."""

    port: int

    def url(self, path: str) -> str:
        """The address of a bucket or of what is in one, with everything needed to reach it."""
        options = f"endpoint=http://127.0.0.1:{self.port}&region=us-east-1"
        return f"s3://{_KEY}:{_SECRET}@{path}?{options}"

    def environment(self, user: str = _KEY) -> dict[str, str]:
        """The variables by which S3's tools find the server; see `running` for the users."""
        return {
            "AWS_ACCESS_KEY_ID": user,
            "AWS_SECRET_ACCESS_KEY": _SECRET,
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}",
        }

    def filesystem(self) -> pafs.FileSystem:
        """The store as pyarrow sees it."""
        return pafs.S3FileSystem(
            access_key=_KEY,
            secret_key=_SECRET,
            endpoint_override=f"127.0.0.1:{self.port}",
            scheme="http",
            region="us-east-1",
            allow_bucket_creation=True,
            allow_bucket_deletion=True,
        )

    def put(self, path: str, content: bytes) -> None:
        """Writes bucket/key; the bucket is made if it is not there."""
        store = self.filesystem()
        store.create_dir(path.split("/", 1)[0])
        with store.open_output_stream(path, compression=None) as stream:
            stream.write(content)


def weed() -> str | None:
    """The program, of the environment that runs the tests or on the path."""
    return shutil.which("weed", path=str(Path(sys.executable).parent)) or shutil.which("weed")


@contextmanager
def running(folder: Path) -> Iterator[S3Server]:
    """Starts a server that keeps its data in a folder; stops it when left.

    Besides the user of `url` there are `reader` and `lister`, who may do no more than that.

    Raises:
        TimeoutError: it does not answer, with the end of what it printed.
    """
    master, volume, filer, s3, *grpc = _free_ports(8)
    config = folder / "s3.json"
    identities = [
        {
            "name": user,
            "credentials": [{"accessKey": user, "secretKey": _SECRET}],
            "actions": actions,
        }
        for user, actions in {
            _KEY: ["Admin", "Read", "List", "Write"],
            "reader": ["Read", "List"],
            "lister": ["List"],
        }.items()
    ]
    config.write_text(json.dumps({"identities": identities}))
    options = {
        "dir": folder,
        "ip": "127.0.0.1",
        "ip.bind": "127.0.0.1",
        "master.port": master,
        "master.port.grpc": grpc[0],
        "master.telemetry": "false",
        "master.volumeSizeLimitMB": 64,
        "volume.port": volume,
        "volume.port.grpc": grpc[1],
        "volume.max": 200,
        "filer": "true",
        "filer.port": filer,
        "filer.port.grpc": grpc[2],
        "s3": "true",
        "s3.port": s3,
        "s3.port.grpc": grpc[3],
        "s3.port.iceberg": 0,
        "s3.port.lance": 0,
        "s3.config": config,
    }
    words = [f"-{name}={value}" for name, value in options.items()]
    printed = folder / "weed.log"
    with printed.open("wb") as out:
        process = subprocess.Popen(
            [weed(), "server", *words], stdout=out, stderr=subprocess.STDOUT, cwd=folder
        )
    try:
        server = S3Server(s3)
        _wait(server, process, printed)
        yield server
    finally:
        process.kill()  # its data goes with it, and a polite end takes it half a minute
        process.wait()


def _wait(server: S3Server, process: subprocess.Popen, printed: Path) -> None:
    """Until a file can be written: the parts of the server come up one after another."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    error: OSError | None = None
    while time.monotonic() < deadline and process.poll() is None:
        try:
            server.put("ready/probe", b"x")
        except OSError as refused:
            error = refused
            time.sleep(0.3)
        else:
            return
    raise TimeoutError(f"weed is not ready: {error}\n{printed.read_text()[-2000:]}")


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
