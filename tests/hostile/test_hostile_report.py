"""What a service that is no friend can do to `cliffwatch compare URL`."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from click.testing import CliRunner, Result

from cliffwatch.command import service_report
from cliffwatch.command.compare import compare


class Service(BaseHTTPRequestHandler):
    """Answers each path with the evil that it names."""

    asked: list[str]

    def do_GET(self) -> None:
        self.asked.append(self.path)
        body = b"x" * 200 if "large" in self.path else b"\x1b[2Jevil\x9b\r\n"
        self.send_response(302 if "away" in self.path else 200)
        if "away" in self.path:
            self.send_header("Location", "http://localhost:1/compare/secret.txt")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - its name there
        pass


@pytest.fixture
def service() -> Iterator[str]:
    Service.asked = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def run(address: str) -> Result:
    return CliRunner().invoke(compare, [address])


def test_no_terminal_obeys_it(service: str) -> None:
    ended = run(f"{service}/compare/a...b")
    assert ended.exit_code == 0
    assert "evil" in ended.output
    assert not {"\x1b", "\x9b", "\r"} & set(ended.output)


def test_it_leads_to_no_other_server(service: str) -> None:
    ended = run(f"{service}/compare/away")
    assert ended.exit_code == 2
    assert "it redirects to another server" in ended.output
    assert Service.asked == ["/compare/away.txt"]


def test_its_report_has_a_largest_size(service: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service_report, "_LARGEST", 100)
    ended = run(f"{service}/compare/large")
    assert ended.exit_code == 2
    assert "xxx" not in ended.output


@pytest.mark.parametrize("address", ["http://[::1/compare/a", "http://127.0.0.1:99999/compare/a...b"])
def test_an_odd_address_is_refused(address: str) -> None:
    ended = run(address)
    assert ended.exit_code in (2, 4)
    assert ended.exception is None or isinstance(ended.exception, SystemExit)
