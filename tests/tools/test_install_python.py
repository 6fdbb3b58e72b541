"""Setup behind a company's network: pip and uv reach an index by the settings of either, and a failure names
its step and the way out.
"""

import hashlib
import http.server
import os
import shutil
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pip
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from small_wheels import make_wheel

ROOT = Path(__file__).parents[2]
UV = Path(sys.executable).with_name("uv")
HOST = "packages.example.org"
"""A name that nobody resolves: only a proxy gets there."""

BACKEND = f"""\
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from small_wheels import make_wheel
def build_editable(folder, config_settings=None, metadata_directory=None):
    return make_wheel(folder, NAME, {{}}).name
"""


@dataclass
class Index:
    """An index behind TLS; `authority` is the certificate that vouches for itself, `tunnelled` what its proxy
    was asked for.
    """

    url: str
    proxy: str
    authority: Path
    tunnelled: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    folder = tmp_path_factory.mktemp("index")
    for name, scripts in (("uv", {"uv": f'#!/bin/sh\nexec {UV} "$@"\n'}), ("tool", {})):
        (folder / "simple" / name).mkdir(parents=True)
        make_wheel(folder / "simple" / name, name, scripts)
    authority, key = _certificate(folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority, key)

    class Packages(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments: object) -> None:
            super().__init__(*arguments, directory=str(folder))  # type: ignore[arg-type]

        def log_message(self, *_: object) -> None:
            pass

    class Proxy(http.server.BaseHTTPRequestHandler):
        """Takes every CONNECT to the index, whose certificate its clients then see."""

        def do_CONNECT(self) -> None:
            index.tunnelled.append(self.path)
            self.send_response(200)
            self.end_headers()
            with socket.create_connection(packages.server_address[:2]) as onward:
                back = threading.Thread(target=_pump, args=(onward, self.connection))
                back.start()
                _pump(self.connection, onward)
                back.join()

        def log_message(self, *_: object) -> None:
            pass

    packages = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Packages)
    packages.socket = context.wrap_socket(packages.socket, server_side=True, do_handshake_on_connect=False)
    proxy = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    index = Index(
        url=f"https://127.0.0.1:{packages.server_port}/simple/",
        proxy=f"http://127.0.0.1:{proxy.server_port}",
        authority=authority,
    )
    with ExitStack() as servers:
        servers.enter_context(_serving(packages))
        servers.enter_context(_serving(proxy))
        yield index


@contextmanager
def _serving(server: http.server.ThreadingHTTPServer) -> Iterator[None]:
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _pump(source: socket.socket, target: socket.socket) -> None:
    try:
        while data := source.recv(1 << 16):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass  # the other side went away


def _certificate(folder: Path) -> tuple[Path, Path]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "A company's TLS proxy")])
    names = x509.SubjectAlternativeName([x509.DNSName(HOST), x509.IPAddress(ip_address("127.0.0.1"))])
    now = datetime.now(UTC)
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    made = made.serial_number(1).not_valid_before(now - timedelta(1)).not_valid_after(now + timedelta(1))
    made = made.add_extension(names, critical=False)
    certificate = made.sign(key, hashes.SHA256())
    (folder / "authority.crt").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    plain = serialization.NoEncryption()
    private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    (folder / "key").write_bytes(private)
    return folder / "authority.crt", folder / "key"


@dataclass
class Checkout:
    """A small repository with the script, and nothing in its environment that a user did not set."""

    folder: Path

    def set_up(self, **settings: str) -> subprocess.CompletedProcess[str]:
        env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "PIP_RETRIES": "0",
            "UV_HTTP_RETRIES": "0",
        }
        env |= {"PIP_CONFIG_FILE": os.devnull, "UV_CACHE_DIR": str(self.folder / "cache"), **settings}
        argv = ["tools/install-python.sh", ".venv", str(self.folder / "python")]
        return subprocess.run(argv, cwd=self.folder, env=env, capture_output=True, text=True, check=False)


@pytest.fixture
def checkout(index: Index, tmp_path: Path) -> Checkout:
    """Its `python -m venv` borrows our pip: unpacking one takes seconds."""
    (tmp_path / "tools").mkdir()
    for script in ("install-python.sh", "package_settings.sh"):
        shutil.copy(ROOT / "tools" / script, tmp_path / "tools")
    packages = index.authority.parent / "simple"
    for file, name in (("setup", "uv"), ("dev", "tool"), ("dashboards", "tool")):
        (tmp_path / "requirements").mkdir(exist_ok=True)
        digest = hashlib.sha256((packages / name / f"{name}-1-py3-none-any.whl").read_bytes()).hexdigest()
        (tmp_path / f"requirements/{file}.txt").write_text(f"{name}==1 --hash=sha256:{digest}\n")
    for part in ("", "runner", "service"):
        (tmp_path / part).mkdir(exist_ok=True)
        name = f"own{part}"
        (tmp_path / part / "backend.py").write_text(f"NAME = {name!r}\n{BACKEND}")
        system = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
        (tmp_path / part / "pyproject.toml").write_text(
            f'{system}[project]\nname = "{name}"\nversion = "1"\n'
        )
    script = f"""\
#!/bin/sh
{sys.executable} -m venv --without-pip "$3"
for packages in "$3"/lib/python3*/site-packages; do ln -s {Path(pip.__file__).parent} "$packages/pip"; done
printf '#!/bin/sh\\nexec "%s/bin/python" -m pip "$@"\\n' "$PWD/$3" > "$3/bin/pip"
chmod +x "$3/bin/pip"
"""
    (tmp_path / "python").write_text(script)
    (tmp_path / "python").chmod(0o755)
    return Checkout(tmp_path)


def is_set_up(checkout: Checkout, done: subprocess.CompletedProcess[str]) -> bool:
    assert done.returncode == 0, done.stderr
    names = {path.name for path in checkout.folder.glob(".venv/lib/python3*/site-packages/*-1.dist-info")}
    return {"uv-1.dist-info", "tool-1.dist-info", "ownservice-1.dist-info"} <= names


def test_both_take_the_index_of_pip_and_the_environment_s_authority(index: Index, checkout: Checkout) -> None:
    done = checkout.set_up(PIP_INDEX_URL=index.url, SSL_CERT_FILE=str(index.authority))

    assert is_set_up(checkout, done)


def test_both_take_the_index_of_uv(index: Index, checkout: Checkout) -> None:
    done = checkout.set_up(UV_INDEX_URL=index.url, SSL_CERT_FILE=str(index.authority))

    assert is_set_up(checkout, done)


def test_uv_follows_pip_s_own_file(index: Index, checkout: Checkout) -> None:
    nowhere = "https://127.0.0.1:1/simple/"
    conf = f"[global]\nindex-url = {nowhere}\nextra-index-url =\n  {nowhere}\ncert = {index.authority}\n"
    conf += f"[install]\nindex-url = {index.url}\nextra-index-url = {index.url}\n"
    (checkout.folder / "pip.conf").write_text(conf)
    done = checkout.set_up(PIP_CONFIG_FILE=str(checkout.folder / "pip.conf"))

    assert is_set_up(checkout, done)


@pytest.mark.parametrize("setting", ["https_proxy", "PIP_PROXY"])
def test_both_go_through_the_proxy(index: Index, checkout: Checkout, setting: str) -> None:
    index.tunnelled.clear()
    done = checkout.set_up(
        PIP_INDEX_URL=f"https://{HOST}/simple/", SSL_CERT_FILE=str(index.authority), **{setting: index.proxy}
    )

    assert is_set_up(checkout, done)
    assert set(index.tunnelled) == {f"{HOST}:443"}


def test_a_certificate_that_nobody_knows_is_told_with_the_way_out(index: Index, checkout: Checkout) -> None:
    done = checkout.set_up(PIP_INDEX_URL=f"https://{HOST}/simple/", https_proxy=index.proxy)

    assert done.returncode == 4
    assert "setup: fetching uv with pip failed" in done.stderr
    assert "certificate that this machine does not trust" in done.stderr
    assert "sudo update-ca-certificates" in done.stderr
    assert "export SSL_CERT_FILE=" in done.stderr


def test_a_certificate_that_uv_alone_does_not_know_is_told_the_same_way(
    index: Index, checkout: Checkout
) -> None:
    (checkout.folder / "other.crt").write_bytes(_certificate(checkout.folder)[0].read_bytes())
    done = checkout.set_up(
        PIP_INDEX_URL=index.url,
        PIP_CERT=str(index.authority),
        SSL_CERT_FILE=str(checkout.folder / "other.crt"),
    )

    assert done.returncode == 4
    assert "setup: fetching packages with uv failed" in done.stderr
    assert "certificate that this machine does not trust" in done.stderr


def test_a_proxy_that_is_not_there_is_told_with_the_settings_that_name_one(checkout: Checkout) -> None:
    done = checkout.set_up(PIP_INDEX_URL=f"https://{HOST}/simple/", https_proxy="http://127.0.0.1:1")

    assert done.returncode == 4
    assert "setup: fetching uv with pip failed" in done.stderr
    assert "https_proxy=http://HOST:PORT" in done.stderr
    assert "PIP_INDEX_URL=URL" in done.stderr
    assert "certificate" not in done.stderr.split("setup:")[1]
