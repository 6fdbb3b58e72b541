"""A service on a real PostgreSQL, over real HTTP, on a clock that is moved by hand."""

import asyncio
import ssl
import threading
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import psycopg
import structlog
import uvicorn
from listening import listening, port_of
from psycopg.rows import dict_row
from service_runs import MadeRun, put_all

from cliffwatch.formats.setup import NO_SETUP, Setup, build_anchored_arms
from cliffwatch_runner.upload.client import Client, Patience
from cliffwatch_service.access.tokens import make_token
from cliffwatch_service.command.app import create_app
from cliffwatch_service.history.follow import extend_branch, follow_branch
from cliffwatch_service.http.context import Rates, Service
from cliffwatch_service.http.large import LargeWork
from cliffwatch_service.http.server import server_config
from cliffwatch_service.jobs.requests import RequestDraft, store_request
from cliffwatch_service.postgres.embedded import EmbeddedPostgres
from cliffwatch_service.postgres.pool import open_pool
from cliffwatch_service.runtime.settings import Settings
from cliffwatch_service.store import tokens, trees
from cliffwatch_service.store.follows import ASKER, FollowFacts
from cliffwatch_service.store.work import hosts
from cliffwatch_service.tasks.process import run_tasks

# Nothing here is asked over TLS. Its authorities would be read anew for each client: 50 ms, and a test asks
# with dozens.
NO_AUTHORITIES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def database_url(cluster: EmbeddedPostgres, name: str) -> str:
    return cluster.url.replace("/cliffwatch?", f"/{name}?")


def fresh_database(cluster: EmbeddedPostgres, template: str) -> Iterator[str]:
    name = f"t{uuid.uuid4().hex[:12]}"
    with psycopg.connect(database_url(cluster, "postgres"), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy")
        yield database_url(cluster, name)
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


# As the service's own logs: drawing a traceback with the values of its variables takes seconds, in which
# nobody is answered.
structlog.configure(
    processors=[
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback),
    ]
)


class Clock:
    """The service's clock, moved by hand."""

    def __init__(self) -> None:
        self.moment = datetime(2026, 11, 21, 12, tzinfo=UTC)

    def now(self) -> datetime:
        return self.moment

    def pass_(self, **time: float) -> None:
        self.moment += timedelta(**time)


@dataclass(frozen=True)
class Running:
    """A service that listens. `tokens` are secrets by scope; `admin` may do everything."""

    url: str
    database: str
    service: Service
    clock: Clock
    tokens: dict[str, str]
    server: uvicorn.Server
    clients: list[Client] = field(default_factory=list)

    def client(self, scope: str | None = "admin") -> Client:
        token = None if scope is None else self.tokens[scope]
        self.clients.append(Client(self.url, token, patience=Patience(tries=1)))
        return self.clients[-1]

    def http(self, scope: str | None = "admin") -> httpx2.Client:
        headers = {} if scope is None else {"Authorization": f"Bearer {self.tokens[scope]}"}
        return httpx2.Client(
            base_url=self.url, headers=headers, trust_env=False, timeout=300, verify=NO_AUTHORITIES
        )

    def get(self, path: str, scope: str | None = None, **params: Any) -> Any:
        with self.http(scope) as http:
            return http.get(f"/api/v1{path}", params=params).raise_for_status().json()

    def rows(self, query: str) -> list[dict[str, Any]]:
        with self.service.transaction() as connection:
            return connection.cursor(row_factory=dict_row).execute(query).fetchall()

    def enrol(self, platform: str, *modes: str) -> None:
        """Makes sure that a host of a platform has once offered to work, so that something can be asked of
        it.
        """
        name = {"amd-rome": "rome-1", "intel-skylake": "skylake-1", "emulated-x86-64": "emulator-1"}.get(
            platform, platform
        )
        if self.rows(f"SELECT id FROM host WHERE name = '{name}' AND about ? 'modes'"):
            return
        long_ago = self.clock.now() - timedelta(days=1)
        with self.service.transaction() as connection:
            hosts.keep_host(
                connection,
                name,
                platform,
                {"modes": modes or ("walltime", "icount"), "setups": True},
                long_ago,
            )

    def token(self, name: str, *scopes: str, host: str | None = None) -> str:
        """The secret of a token of this name, made where there is none."""
        if name not in self.tokens:
            with self.service.transaction() as connection:
                secret = make_token(connection, name, scopes, by="test", now=self.clock.now(), host=host)
            self.tokens[name] = secret
        return self.tokens[name]

    def follow(self, tree: str, branch: str, commits: Sequence[str]) -> int:
        """Follows a branch as if the service's own git had found these commits on it, the oldest first."""
        row = FollowFacts(
            tree=tree,
            branch=branch,
            policy="commit",
            targets=[("amd-rome", "walltime")],
            suites=["local-storage"],
            profile="standard",
        )
        with self.service.transaction() as connection:
            follow_branch(connection, row, who="test", now=self.clock.now())
            identity = trees.keep_branch(
                connection, trees.keep_tree(connection, tree, self.clock.now()), branch
            )
            line = [
                trees.RevisionFacts(commit=commit, parents=[before] if before else [])
                for before, commit in zip([None, *commits], commits, strict=False)
            ]
            extend_branch(connection, identity, line)
        return identity

    def lease(self, run: MadeRun, host: str | None = None, *, token: str | None = None) -> dict[str, Any]:
        """A job of what a run measures, asked for by the service itself, and taken by its host, with a token
        of its own unless another is named.
        """
        target = run.record["platform"], run.record["mode"]
        base, head, *anchor = (arm["facts"]["commit"] for arm in run.record["arms"])
        asked = RequestDraft(
            tree=run.record["tree"],
            base=base,
            head=head,
            targets=[target],
            suites=["local-storage"],
            profile="standard",
            boots="auto",
            priority="person",
            setup=Setup(arms=build_anchored_arms(base, head, anchor[0])) if anchor else NO_SETUP,
        )
        host = host or run.host
        with self.service.transaction() as connection:
            asker = tokens.keep_asker(connection, ASKER, self.clock.now())
            store_request(
                connection,
                asked,
                key=f"{base} {head} {run.record['identity']}",
                token_id=asker,
                who=ASKER,
                now=self.clock.now(),
            )
        if token is None:
            token = f"of {host}"
            self.token(token, "work", host=host)
        body = {
            "host": host,
            "platform": target[0],
            "modes": [target[1]],
            "isolation": "bubblewrap",
            "setups": True,
        }
        with self.http(token) as http:
            work: dict[str, Any] = http.post("/api/v1/offers", json=body).raise_for_status().json()
        assert (work["base"], work["head"]) == (base, head)
        run.record["plan"]["seed"] = work["seed"]
        return work

    def measure(self, run: MadeRun) -> str:
        """A run from the job to its end, by an enrolled host; its job."""
        work = self.lease(run)
        with self.http(f"of {run.host}") as http:
            put_all(http, run, job=work["job"])
            end = {"outcome": "done", "run": run.digest}
            http.post(f"/api/v1/leases/{work['lease']}/complete", json=end).raise_for_status()
        return str(work["job"])

    def make_history(self) -> None:
        """What was uploaded so far counts as measured for a followed branch, as if a lease had been there."""
        with self.service.transaction() as connection:
            connection.execute("UPDATE run SET of_history = true")

    def do_tasks(self) -> None:
        """Every background task that waits now. In a thread of its own: a browser's loop may run
        in this one.
        """
        failed: list[BaseException] = []

        def work_off() -> None:
            try:
                asyncio.run(
                    run_tasks(self.database, self.service.settings, forever=False, now=self.clock.now)
                )
            except BaseException as error:  # noqa: BLE001 - told below
                failed.append(error)

        beside = threading.Thread(target=work_off)
        beside.start()
        beside.join()
        if failed:
            raise failed[0]


_routes: list[Any] = []
"""Of the first application of this process. FastAPI makes them at the first request, in a tenth of a second
of CPU.
"""


def _app(service: Service, large: LargeWork) -> Any:
    """An application of its own whose routes are those of the others: they know nothing of a service."""
    app = create_app(service, large)
    description, *routes = app.router.routes
    _routes.extend(routes if not _routes else ())
    app.router.routes[:] = [description, *_routes]
    return app


@contextmanager
def serving(database: str, settings: Settings, clock: Clock) -> Iterator[Running]:
    """A service on this database, listening at a free port, with a token of each scope."""
    pool = open_pool(database, connections=6, statement_seconds=120)
    rates = Rates(settings.requests_per_minute)
    large = LargeWork(settings, database)
    service = Service(settings=settings, pool=pool, now=clock.now, rates=rates, session_key="k" * 40)
    scopes = ("read", "upload", "work", "triage", "admin")
    with service.transaction() as connection:
        made = {scope: make_token(connection, scope, [scope], by="test", now=clock.now()) for scope in scopes}
    config = server_config(_app(service, large), settings, port=0)
    with listening(config) as server:
        running = Running(f"http://127.0.0.1:{port_of(server)}", database, service, clock, made, server)
        try:
            yield running
        finally:
            for client in running.clients:
                client.close()
    large.close()
    pool.close()
