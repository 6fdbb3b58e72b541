"""What happens on a followed branch, and what is heard of it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
from github_stand_in.server import StandIn
from service_running import Running
from service_runs import commit_of, run_leaving_out, run_of

from cliffwatch_service.store import background
from cliffwatch_service.store.history.news import outbox

TREE = "https://git.example.org/bpf-next.git"
WORSE, BACK = 0.1, 1 / 1.1 - 1


class Mailbox:
    """Keeps what is sent to it; answers with `refusal` as long as there is one."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.mails: list[EmailMessage] = []
        self.recipients: list[str] = []
        self.refusal: str | None = None
        self.tries = 0

    async def handle_RCPT(self, server: Any, session: Any, envelope: Any, address: str, options: Any) -> str:  # noqa: N802
        self.tries += 1
        if self.refusal is not None:
            return self.refusal
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:  # noqa: N802
        parsed = message_from_bytes(envelope.content, policy=policy.default)
        assert isinstance(parsed, EmailMessage)
        self.mails.append(parsed)
        self.recipients += envelope.rcpt_tos
        return "250 OK"


@dataclass
class Receiver:
    """Keeps what webhooks bring; answers with `status` and `headers`."""

    url: str = ""
    status: int = 204
    headers: dict[str, str] = field(default_factory=dict)
    bodies: list[bytes] = field(default_factory=list)
    sent: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)


@contextmanager
def receiving() -> Iterator[Receiver]:
    """A web server on a free port of this machine."""
    kept = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            kept.bodies.append(self.rfile.read(int(self.headers["content-length"])))
            kept.sent.append({name.lower(): value for name, value in self.headers.items()})
            kept.paths.append(self.path)
            self.send_response(kept.status)
            for name, value in kept.headers.items():
                self.send_header(name, value)
            self.end_headers()

        def do_GET(self) -> None:
            kept.paths.append(f"GET {self.path}")
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    kept.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield kept
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@dataclass(frozen=True)
class NewsWorld:
    """A service, the servers that its news go to, and a branch of r0, r1, …"""

    running: Running
    mailbox: Mailbox
    receiver: Receiver
    hub: StandIn

    def follow(self, commits: int = 5) -> int:
        return int(self.running.follow(TREE, "master", [commit_of(f"r{index}") for index in range(commits)]))

    def measure(self, base: str, head: str, shift: float, *, cases: int = 1, seed: int = 1) -> None:
        """As an enrolled host does, and as the service's background tasks go on with it: all cases are
        shifted.
        """
        run = run_of(boots=8, cases=cases, base=base, head=head, shift=shift, seed=seed)
        run.logs[1, :, 1:] += np.log1p(shift)
        self.running.measure(run)
        self.running.do_tasks()

    def leave_out(self, base: str, head: str, status: str, *, cases: int, measured: int, seed: int) -> None:
        """Measures the first cases alone; the others are left out with this status."""
        run = run_leaving_out(
            run_of(boots=8, cases=cases, base=base, head=head, seed=seed), measured, status, "nothing differs"
        )
        self.running.measure(run)
        self.running.do_tasks()

    def subscribe(self, channel: str, address: str, who: str = "triage", **more: Any) -> Any:
        with self.running.http(who) as http:
            return http.post("/api/v1/subscriptions", json={"channel": channel, "address": address, **more})

    def kinds(self) -> list[str]:
        return [row["kind"] for row in self.running.rows("SELECT kind FROM news ORDER BY id")]

    def report(self) -> str:
        """The digest of the one report that there is."""
        (row,) = self.running.rows("SELECT digest FROM regression_report")
        return str(row["digest"])

    def deliveries(self) -> list[tuple[str, int]]:
        rows = self.running.rows("SELECT state, attempts FROM news_delivery ORDER BY id")
        return [(row["state"], row["attempts"]) for row in rows]

    def round(self) -> None:
        """What a minute's round asks for: what is due is tried."""
        with self.running.service.transaction() as connection:
            for number in outbox.due_deliveries(connection, self.running.clock.now()):
                background.ask_delivery(connection, number)
        self.running.do_tasks()

    def triage(self, state: str, **more: Any) -> None:
        with self.running.http("triage") as http:
            body = {"state": state, **more}
            http.post(f"/api/v1/reports/{self.report()}/triage", json=body).raise_for_status()
        self.running.do_tasks()
