"""Ways into a cluster: what a kubeconfig, a sign-in program, a pod and a proxy say."""

import base64
import contextlib
import json
import os
import stat
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
import yaml
from click.testing import CliRunner
from kubernetes import client, config

from goodput.cli import main
from goodput.errors import SourceUnreachable, UsageError
from goodput.sources.kube_access import NoAccess, find_access
from goodput.sources.kube_answers import Refused, Unanswered
from goodput.sources.kube_opening import open_api
from goodput.sources.kube_patience import Patience

NODES = "/api/v1/nodes"
ONCE = Patience(attempts=1)
EXEC = "client.authentication.k8s.io/v1"


def write_config(path, *, user=None, cluster=None, name="test", server="https://api.example:6443/"):
    """A kubeconfig of one context."""
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "clusters": [{"name": name, "cluster": {"server": server, **(cluster or {})}}],
        "users": [{"name": name, "user": user or {}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
    }
    path.parent.mkdir(exist_ok=True)
    path.write_text(yaml.safe_dump(document))
    return path


def official(path):
    """Address, Authorization, server name and proxy by the official client for Python."""
    settings = client.Configuration()
    config.load_kube_config(str(path), client_configuration=settings, persist_config=False)
    header = settings.auth_settings().get("BearerToken", {}).get("value")
    return settings.host, header, settings.tls_server_name, settings.proxy


@pytest.mark.parametrize(
    ("user", "cluster"),
    [
        ({}, {}),
        ({"token": "of-the-file"}, {}),
        ({"tokenFile": "beside/token"}, {}),
        ({"username": "ana", "password": "p:w"}, {}),
        ({"username": "ana"}, {}),
        ({"token": "t", "username": "ana", "password": "pw"}, {}),
        ({"token": "t"}, {"tls-server-name": "inner.example"}),
        ({"token": "t"}, {"proxy-url": "http://proxy.example:3128"}),
        ({"token": "t"}, {"insecure-skip-tls-verify": True}),
    ],
)
def test_a_kubeconfig_means_what_it_means_to_the_official_client(tmp_path, user, cluster):
    path = write_config(tmp_path / "here" / "config", user=user, cluster=cluster)
    (tmp_path / "here" / "beside").mkdir()
    (tmp_path / "here" / "beside" / "token").write_text("rotates")
    access = find_access(path)
    found = (access.host, access.authorization, access.server_name, access.proxy)
    assert found == official(path)
    assert access.tls.check_hostname is not cluster.get("insecure-skip-tls-verify", False)


def test_a_token_that_lies_in_a_file_has_no_line_break(tmp_path):
    (tmp_path / "token").write_text("new\n")
    path = write_config(tmp_path / "config", user={"tokenFile": "token"})
    assert find_access(path).authorization == "Bearer new"


def test_signing_in_for_somebody_who_is_gone_says_nothing(tmp_path):
    path = write_config(tmp_path / "config", user={"token": "t"})
    command = [sys.executable, "-m", "goodput.sources.kube_signin", str(path), ""]
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(command, check=False, stdout=writing, stderr=subprocess.PIPE, text=True)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")


def test_several_kubeconfigs_are_one(tmp_path, monkeypatch):
    first = write_config(tmp_path / "a" / "config", user={"token": "one"}, name="one")
    other = write_config(tmp_path / "b" / "config", user={"token": "two"}, name="two")
    monkeypatch.setenv("KUBECONFIG", f"{first}:{other}")
    assert find_access(context="one").authorization == "Bearer one"
    assert find_access(context="two").authorization == "Bearer two"


def test_without_a_name_the_kubeconfig_of_the_home_folder_is_used(tmp_path):
    write_config(tmp_path / ".kube" / "config", user={"token": "home"})
    assert find_access().authorization == "Bearer home"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "config file is empty"),
        ("a: [", "line 1, column 5"),
        ("{}", "Expected key current-context"),
        ("current-context: x", "Expected object with name x"),
    ],
)
def test_a_kubeconfig_that_is_none_is_an_error_of_the_user(tmp_path, text, reason):
    path = tmp_path / "config"
    path.write_text(text)
    with pytest.raises(UsageError, match=f"^no way into a cluster: .*{reason}.*; name a kubeconf"):
        open_api(path)


@pytest.mark.parametrize(
    ("user", "cluster", "server", "reason"),
    [
        ({}, {}, "api.example", "the server 'api.example' is no http:// or https:// address"),
        ({"tokenFile": "gone"}, {}, "https://x", "No such file"),
        ({}, {"certificate-authority": "gone.pem"}, "https://x", "File does not exist"),
        ({}, {"certificate-authority-data": "eHg="}, "https://x", "does not contain a certificate"),
        ({"client-certificate-data": "eHg="}, {}, "https://x", "client-key belong together"),
        ({}, {"proxy-url": "socks5://me:p@w@p:1"}, "https://x", "the proxy p:1 is not spoken to"),
        ({"exec": {"command": "x"}}, {}, "https://x", "missing key 'apiVersion'"),
    ],
)
def test_what_cannot_be_used_is_said(tmp_path, user, cluster, server, reason):
    path = write_config(tmp_path / "config", user=user, cluster=cluster, server=server)
    with pytest.raises(NoAccess, match=reason):
        find_access(path)


def test_without_kubeconfig_and_outside_of_a_pod_there_is_no_way_in():
    with pytest.raises(UsageError, match=r"host/port is not set.*; name a kubeconfig"):
        open_api()


def test_no_secret_is_seen_from_outside(tmp_path, monkeypatch):
    """Arguments of processes can be read by everybody on the machine."""
    seen = []
    popen = subprocess.Popen
    monkeypatch.setattr(
        "goodput.sources.kube_access.subprocess.Popen",
        lambda command, **more: seen.append((command, more)) or popen(command, **more),
    )
    find_access(write_config(tmp_path / "config", user={"token": "planted"}))
    assert len(seen) == 1
    assert "planted" not in repr(seen)


def test_what_lies_in_the_current_folder_is_not_run(tmp_path, monkeypatch):
    (tmp_path / "kubernetes.py").write_text("raise SystemExit('planted')")
    monkeypatch.chdir(tmp_path)
    path = write_config(tmp_path / "config", user={"token": "good"})
    assert find_access(path).authorization == "Bearer good"


@pytest.mark.parametrize("token", ["s3cret\r\nX: y", "s3cret\u20ac"])
def test_a_token_that_no_header_can_hold_is_not_shown(tmp_path, token):
    path = write_config(tmp_path / "config", user={"token": token})
    with pytest.raises(UsageError, match="characters that no HTTP header can") as caught:
        open_api(path)
    assert "s3cret" not in str(caught.value)


def test_a_password_in_the_address_is_not_shown(tmp_path):
    path = write_config(tmp_path / "config", server="ftp://ana:hunter2pw@api.example")
    with pytest.raises(UsageError, match=r"ftp://ana:\[password\]@api.example") as caught:
        open_api(path)
    assert "hunter2pw" not in str(caught.value)


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_an_authority_may_come_with_comments(tmp_path, certificates, encoding):
    comment = "# Főtanúsítvány\n" if encoding == "utf-8" else "# Größe\n"
    bundle = tmp_path / "ca.pem"
    bundle.write_bytes(comment.encode(encoding) + (certificates / "server.pem").read_bytes())
    path = write_config(tmp_path / "config", cluster={"certificate-authority": str(bundle)})
    assert len(find_access(path).tls.get_ca_certs()) == 1


# ------------------------------------------------------------------- sign-in programs


@pytest.fixture
def plugin(tmp_path):
    """A kubeconfig whose user signs in with a program that prints a text, or fails."""

    def write(answer, code=0, **more):
        program = tmp_path / "bin" / "sign-in"
        program.parent.mkdir(exist_ok=True)
        program.write_text(
            f"#!{sys.executable}\nimport os, sys\n"
            f"open({str(tmp_path / 'asked')!r}, 'w').write(os.environ['KUBERNETES_EXEC_INFO'])\n"
            "told = ' '.join(sys.argv[1:]) + os.environ.get('MORE', '')\n"
            f"print({answer!r}.replace('ARG', told))\n"
            f"print('who are you?', file=sys.stderr)\nsys.exit({code})\n"
        )
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        wanted = {"command": "bin/sign-in", "apiVersion": EXEC, **more}
        return write_config(tmp_path / "config", user={"exec": wanted})

    return write


def credential(**status):
    return json.dumps({"apiVersion": EXEC, "kind": "ExecCredential", "status": status})


def test_nobody_waits_for_a_program_when_the_rest_failed(plugin, tmp_path):
    """What is wrong with the lake is known at once."""
    path = plugin(credential(token="t"))
    program, signed_in = tmp_path / "bin" / "sign-in", tmp_path / "signed in"
    slow = f"import time; time.sleep(5); open({str(signed_in)!r}, 'w')\n"
    program.write_text(program.read_text() + slow)
    program.write_text(program.read_text().replace("sys.exit(0)\n", ""))
    (tmp_path / "lake").write_text("")
    words = ["--lake", str(tmp_path / "lake"), "collect", "kubernetes", "--kubeconfig", str(path)]
    assert CliRunner().invoke(main, words).exit_code == 5
    assert not signed_in.exists()


def test_a_program_signs_in(plugin, tmp_path):
    more = {"args": ["a", "b"], "env": [{"name": "MORE", "value": "+c"}]}
    path = plugin(credential(token="for ARG"), **more)
    assert find_access(path).authorization == "Bearer for a b+c"
    assert official(path)[1] == "Bearer for a b+c"
    told = json.loads((tmp_path / "asked").read_text())
    assert told == {"apiVersion": EXEC, "kind": "ExecCredential", "spec": {"interactive": False}}


@pytest.mark.parametrize(
    ("answer", "code", "reason"),
    [
        ("", 7, "process returned 7. who are you?"),
        ("hello", 0, "failed to decode process output"),
        (credential(token="t").replace("io/v1", "io/v2"), 0, "does not match"),
        (credential(), 0, "missing token or clientCertificateData"),
        (credential(clientCertificateData="x"), 0, "missing clientKeyData"),
    ],
)
def test_a_program_that_does_not_sign_in_ends_the_run(plugin, answer, code, reason):
    """The package says so in its log only, and would go on without credentials."""
    with pytest.raises(UsageError, match=reason):
        open_api(plugin(answer, code))


# ------------------------------------------------------------------- TLS and proxies


@pytest.fixture
def secure(server, mutual_tls):
    """The address of the made-up API server, behind TLS that wants to see a certificate."""
    server.socket = mutual_tls.wrap_socket(server.socket, server_side=True)
    return server.url.replace("http://", "https://")


@pytest.fixture
def pair(certificates):
    return {
        f"client-{name}-data": base64.b64encode(
            (certificates / f"client.{ending}").read_bytes()
        ).decode()
        for name, ending in (("certificate", "pem"), ("key", "key"))
    }


def asked(path):
    with contextlib.closing(open_api(path, patience=ONCE)) as api:
        return api.get(NODES).body["kind"]


def test_a_client_certificate_opens_the_door(secure, certificates, pair, tmp_path, cluster):
    cluster.tokens.clear()
    trusted = {"certificate-authority": str(certificates / "server.pem")}
    files = {
        "client-certificate": str(certificates / "client.pem"),
        "client-key": str(certificates / "client.key"),
    }
    for user in (pair, files):
        path = write_config(tmp_path / "config", user=user, cluster=trusted, server=secure)
        with pytest.raises(Refused, match="401"):  # the door is open, and nobody is known
            asked(path)


def test_a_program_may_bring_a_certificate(secure, certificates, plugin, cluster):
    cluster.tokens.clear()
    client_pem, client_key = (certificates / f"client.{end}" for end in ("pem", "key"))
    answer = credential(
        clientCertificateData=client_pem.read_text(),
        clientKeyData=client_key.read_text(),
    )
    path = plugin(answer)
    document = yaml.safe_load(path.read_text())
    document["clusters"][0]["cluster"] = {
        "server": secure,
        "certificate-authority": str(certificates / "server.pem"),
        "tls-server-name": "server.example",
    }
    path.write_text(yaml.safe_dump(document))
    with pytest.raises(Refused, match="401"):
        asked(path)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("name", [None, "other.example"])
def test_a_server_that_nobody_vouches_for_is_not_talked_to(
    secure, certificates, pair, tmp_path, cluster, name
):
    told = {"tls-server-name": name, "certificate-authority": str(certificates / "server.pem")}
    path = write_config(
        tmp_path / "config",
        user={"token": "good", **pair},
        cluster=told if name else {},
        server=secure,
    )
    with pytest.raises(SourceUnreachable, match="is not trusted"):
        asked(path)
    assert cluster.requests == []


@pytest.mark.filterwarnings("ignore::urllib3.exceptions.InsecureRequestWarning")
def test_whoever_wants_no_proof_gets_none(secure, pair, tmp_path):
    path = write_config(
        tmp_path / "config",
        user={"token": "good", **pair},
        cluster={"insecure-skip-tls-verify": True},
        server=secure,
    )
    assert asked(path) == "NodeList"


@pytest.mark.parametrize(
    ("no_proxy", "proxy"),
    [("", "http://proxy:3128"), ("api.example", None), ("other,.example", None), ("*", None)],
)
def test_the_environment_names_the_proxy_and_whom_it_is_not_for(
    monkeypatch, tmp_path, no_proxy, proxy
):
    monkeypatch.setenv("https_proxy", "http://proxy:3128")
    monkeypatch.setenv("NO_PROXY", no_proxy)
    assert find_access(write_config(tmp_path / "config")).proxy == proxy


def test_a_proxy_is_asked_with_its_password(server, tmp_path):
    seen = []

    class Proxy(BaseHTTPRequestHandler):
        def do_GET(self):
            seen.append((self.path, self.headers["Proxy-Authorization"]))
            self.send_error(503)

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Proxy) as proxy:
        thread = threading.Thread(target=proxy.serve_forever, args=(0.01,))
        thread.start()
        told = {"proxy-url": f"http://me:pw@127.0.0.1:{proxy.server_address[1]}"}
        path = write_config(tmp_path / "config", cluster=told, server=server.url)
        with pytest.raises(Unanswered, match="503"):
            asked(path)
        proxy.shutdown()
        thread.join()
    assert seen == [(f"{server.url}{NODES}", f"Basic {base64.b64encode(b'me:pw').decode()}")]
