"""Certificates for tests that speak TLS."""

import shutil
import ssl
import subprocess

import pytest


@pytest.fixture(scope="session")
def certificates(tmp_path_factory):
    """A server's and a client's self-signed certificate, each with its key, in one folder."""
    if not shutil.which("openssl"):
        pytest.skip("no openssl here to make certificates with")
    folder = tmp_path_factory.mktemp("tls")
    for name in ("server", "client"):
        subprocess.run(
            "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
            f" -subj /CN={name} -addext subjectAltName=IP:127.0.0.1,DNS:{name}.example"
            f" -keyout {folder}/{name}.key -out {folder}/{name}.pem",
            shell=True,
            check=True,
            capture_output=True,
        )
    return folder


@pytest.fixture
def mutual_tls(certificates):
    """How a server speaks that talks only to who shows the client's certificate."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificates / "server.pem", certificates / "server.key")
    context.load_verify_locations(certificates / "client.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    return context
