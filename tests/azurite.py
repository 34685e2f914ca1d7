"""A real Azure Blob server on this machine, for tests: Azurite, one process in a folder."""

import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from pyarrow import fs as pafs

ACCOUNT = "devstoreaccount1"
# The account that every Azurite has; its key is in Azurite's own documentation.
_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
_PATIENCE_SECONDS = 60


@dataclass(frozen=True)
class AzureServer:
    """Where the server listens, and how to address what is in it."""

    port: int

    def url(self, path: str) -> str:
        """The address of a container or of what is in one, with everything needed to reach it."""
        options = {
            "account_name": ACCOUNT,
            "account_key": _KEY,
            "endpoint": f"http://127.0.0.1:{self.port}/{ACCOUNT}",
        }
        words = "&".join(f"{name}={quote(value, safe='')}" for name, value in options.items())
        return f"az://{path}?{words}"

    def make(self, container: str) -> None:
        """Makes a container, if it is not there."""
        authority = f"127.0.0.1:{self.port}"
        pafs.AzureFileSystem(
            ACCOUNT,
            account_key=_KEY,
            blob_storage_authority=authority,
            dfs_storage_authority=authority,
            blob_storage_scheme="http",
            dfs_storage_scheme="http",
        ).create_dir(container)


def program() -> str | None:
    """What runs it: of the environment that runs the tests, see the Makefile, or on the path."""
    own = Path(sys.executable).parents[1] / "emulators" / "node_modules" / ".bin"
    return shutil.which("azurite-blob", path=str(own)) or shutil.which("azurite-blob")


@contextmanager
def running(folder: Path) -> Iterator[AzureServer]:
    """Starts a server that keeps its data in a folder; stops it when left.

    Raises:
        TimeoutError: it does not answer, with the end of what it printed.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = ["--blobHost", "127.0.0.1", "--blobPort", str(port), "--location", str(folder)]
    printed = folder / "azurite.log"
    with printed.open("wb") as out:
        process = subprocess.Popen(
            [program(), *words, "--skipApiVersionCheck", "--disableTelemetry"],
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    try:
        _wait(port, process, printed)
        yield AzureServer(port)
    finally:
        process.kill()
        process.wait()


def _wait(port: int, process: subprocess.Popen, printed: Path) -> None:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.2)
        else:
            return
    raise TimeoutError(f"azurite is not ready\n{printed.read_text()[-2000:]}")
