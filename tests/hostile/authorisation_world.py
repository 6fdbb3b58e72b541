"""A service with something of everybody's in it, and every operation on it: what it is sent, and who may get
through.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from service_running import Running
from service_runs import boots_of, commit_of, put_all, record_of, run_of

from cliffwatch_service.github.app.files import WebhookSecret, app_files
from cliffwatch_service.github.webhooks.signatures import signature_of
from cliffwatch_service.store.history.news import subscriptions
from cliffwatch_service.store.history.news.subscriptions import SubscriptionFacts

TREE = "https://git.example.org/bpf-next.git"
UNBOUND = ("mine", "theirs", "work", "work2", "admin")
"""Who may upload and ask, for no host in particular."""

EVERYBODY = ("public", "read", *UNBOUND, "of rome-1", "of rome-2", "triage")
TARGET = {"platform": "amd-rome", "mode": "walltime"}


@dataclass(frozen=True)
class Case:
    """One object of an operation, `path` being the address; `allowed` are those who get through, all others
    do not.
    """

    what: str
    path: str
    allowed: tuple[str, ...]
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)


ForEach = Callable[[str], Case]
"""Where the first to come owns what he makes, everybody tries with one of his own."""

Cases = Callable[["World"], Sequence[Case | ForEach]]


def reading(path: str) -> Cases:
    return lambda world: [Case("", path.format(**world.known), EVERYBODY)]


def admins(path: str, body: Any = None) -> Cases:
    return lambda world: [Case("", path.format(**world.known), ("admin",), body)]


def webhooks(world: "World") -> list[Case | ForEach]:
    """Whoever holds the secret: a token is none, and does no harm."""
    app_files(world.running.service.settings).keep_webhook_secrets(
        (WebhookSecret(secret="s" * 32, until=None),)
    )
    body = b'{"zen": "Anything added dilutes everything else."}'

    def signed(who: str) -> Case:
        headers = {
            "Content-Type": "application/json",
            "X-GitHub-Event": "ping",
            "X-GitHub-Delivery": f"00000000-0000-4000-8000-{EVERYBODY.index(who):012d}",
            "X-Hub-Signature-256": signature_of(body, "s" * 32),
        }
        return Case("a signed one", "/github/webhook", EVERYBODY, body, headers)

    return [signed]


@dataclass(frozen=True)
class World:
    """Names of what is there: `known` by the names that addresses have for it."""

    running: Running
    known: dict[str, str]
    own: Any
    leased: Any
    leases: dict[str, str]
    job: str
    others_job: str
    others_request: str
    report: str
    subscriptions: dict[str, int]

    def new_runs(self) -> list[Case | ForEach]:
        def fresh(who: str) -> Case:
            run = run_of(boots=1, cases=1, seed=90 + EVERYBODY.index(who), host="desk-9")
            return Case("a run of a name that is free", f"/runs/{run.digest}", UNBOUND, record_of(run))

        named = run_of(boots=1, cases=1, seed=78, host="rome-1")
        borrowed = run_of(boots=1, cases=1, seed=79, host="desk-9")
        return [
            fresh,
            Case(
                "a run in an enrolled host's name", f"/runs/{named.digest}", ("of rome-1",), record_of(named)
            ),
            Case("another host's job", f"/runs/{borrowed.digest}", (), record_of(borrowed, job=self.job)),
            Case("somebody's run", f"/runs/{self.own.digest}", ("mine", "admin"), record_of(self.own)),
            Case(
                "a host's run",
                f"/runs/{self.leased.digest}",
                ("of rome-1",),
                record_of(self.leased, job=self.job),
            ),
        ]

    def boots(self) -> list[Case]:
        bodies = {run.digest: next(iter(boots_of(run)))[1] for run in (self.own, self.leased)}
        return [
            Case(
                "somebody's", f"/runs/{self.own.digest}/boots/1", ("mine", "admin"), bodies[self.own.digest]
            ),
            Case(
                "a host's",
                f"/runs/{self.leased.digest}/boots/1",
                ("of rome-1", "admin"),
                bodies[self.leased.digest],
            ),
        ]

    def codes(self) -> list[Case]:
        code = {"format": "cliffwatch-code", "format_version": 1, "arms": []}
        return [
            Case("somebody's", f"/runs/{self.own.digest}/code", ("mine", "admin"), code),
            Case("a host's", f"/runs/{self.leased.digest}/code", ("of rome-1", "admin"), code),
        ]

    def archives(self) -> list[Case]:
        kind = {"Content-Type": "application/x-tar"}
        return [
            Case("somebody's", f"/runs/{self.own.digest}/boots/1/raw", ("mine", "admin"), bytes(1024), kind),
            Case(
                "a host's",
                f"/runs/{self.leased.digest}/boots/1/raw",
                ("of rome-1", "admin"),
                bytes(1024),
                kind,
            ),
        ]

    def offers(self) -> list[Case | ForEach]:
        def offer(host: str, allowed: tuple[str, ...]) -> Case:
            body = {"host": host, "platform": "amd-rome", "modes": ["icount"], "isolation": "bubblewrap"}
            return Case(host, "/offers", allowed, body)

        return [
            offer("rome-1", ("of rome-1",)),
            offer("box-1", ("work",)),
            lambda who: offer(f"free {who}", ("work", "work2", "admin")),
        ]

    def calibrations(self) -> list[Case]:
        def calibration(host: str, allowed: tuple[str, ...]) -> Case:
            return Case(host, f"/hosts/{host}/calibrations", allowed, CALIBRATION)

        return [calibration("rome-1", ("of rome-1",)), calibration("box-1", ("work",))]

    def checked_calibrations(self) -> list[Case]:
        target = {name: CALIBRATION[name] for name in ("platform", "mode")}
        return [Case(each.what, f"{each.path}/check", each.allowed, target) for each in self.calibrations()]

    def of_leases(self, act: str, body: Any) -> list[Case]:
        owners = {"rome-1": ("of rome-1", "admin"), "box-1": ("work", "admin")}
        return [Case(host, f"/leases/{self.leases[host]}/{act}", owners[host], body) for host in self.leases]

    def of_subscriptions(self, act: str, body: Any) -> list[Case]:
        return [
            Case("own", f"/subscriptions/{self.subscriptions['triage']}{act}", ("triage", "admin"), body),
            Case("another's", f"/subscriptions/{self.subscriptions['admin']}{act}", ("admin",), body),
        ]

    def cancels(self, kind: str, own: str, others: str) -> list[Case]:
        return [
            Case("own", f"/{kind}/{own}/cancel", ("mine", "admin"), {}),
            Case("another's", f"/{kind}/{others}/cancel", ("admin",), {}),
        ]


def asked(head: str) -> dict[str, Any]:
    return {
        "tree": TREE,
        "base": commit_of("base"),
        "head": commit_of(head),
        "targets": [TARGET],
        "suites": ["local-storage"],
    }


def subscribed(running: Running, who: str) -> int:
    """Somebody's subscription, to an address that the settings allowed once."""
    facts = SubscriptionFacts(
        token_id=running.rows(f"SELECT id FROM token WHERE name = '{who}'")[0]["id"],
        channel="mail",
        address=f"{who}@lists.example.org",
        secret=None,
        authors=[],
        subsystems=[],
        suites=[],
        created=running.clock.now(),
    )
    with running.service.transaction() as connection:
        number = subscriptions.insert_subscription(connection, facts)
    assert number is not None
    return number


def world_of(running: Running) -> World:
    """Mine's run and request, a run of the enrolled host rome-1 for its job, and box-1's lease, taken with
    `work`.
    """
    for name, scopes, host in (
        ("mine", ("upload",), None),
        ("theirs", ("upload",), None),
        ("work2", ("work",), None),
        ("of rome-1", ("work",), "rome-1"),
        ("of rome-2", ("work",), "rome-2"),
        ("gone", ("read",), None),
    ):
        running.token(name, *scopes, host=host)
    running.follow(TREE, "master", [commit_of("r0"), commit_of("r1")])
    running.measure(run_of(boots=8, cases=3, base="r0", head="r1", shift=0.1, seed=80))
    running.do_tasks()
    own = run_of(boots=1, cases=1, host="desk-1")
    with running.http("mine") as http:
        put_all(http, own)
    leased = run_of(boots=1, cases=1, seed=81)
    work = running.lease(leased)
    with running.http("of rome-1") as http:
        put_all(http, leased, job=work["job"])
    running.enrol("amd-rome")
    boxed = run_of(boots=1, cases=1, seed=82, head="h82")
    box = running.lease(boxed, "box-1", token="work")
    with running.http("mine") as http:
        made = http.post("/api/v1/requests", json=asked("h83"), headers={"Idempotency-Key": "mine"})
        mine = made.raise_for_status().json()
    others = running.get(f"/jobs/{box['job']}")
    listed = running.get("/reports")["items"]
    known = {
        "run": own.digest,
        "number": "1",
        "path": "x",
        "pair": f"{commit_of('r0')}...{commit_of('r1')}",
        "digest": running.get("/series")["items"][0]["series"],
        "commit": commit_of("r1"),
        "report": listed[0]["report"],
        "request_id": mine["request"],
        "job": mine["jobs"][0]["job"],
        "name": "local-storage",
        "follow": "99",
    }
    return World(
        running,
        known,
        own,
        leased,
        {"rome-1": work["lease"], "box-1": box["lease"]},
        work["job"],
        box["job"],
        others["request"],
        listed[0]["report"],
        {who: subscribed(running, who) for who in ("triage", "admin")},
    )


CALIBRATION = {
    "format": "cliffwatch-calibration",
    "format_version": 1,
    "cliffwatch_version": "0.1.0",
    "created": "2026-11-21T12:00:00+00:00",
    "platform": "amd-rome",
    "mode": "walltime",
    "profile": "smoke",
    "boots": 12,
    "kernel": "6.18.0",
    "machine": {},
    "suites": [],
    "missing": [],
    "false_changes": [],
    "passed": False,
    "rows": [],
}
EVENTS = {"events": [{"number": 1, "kind": "line", "at": "2026-11-21T12:00:00Z", "data": {"text": "x"}}]}
IMPORT = "/imports?platform=amd-rome&mode=walltime&name=x"
KEY = {"Idempotency-Key": "matrix"}

CASES: dict[str, Cases] = {
    **{
        f"GET {path}": reading(path)
        for path in (
            "/runs",
            "/runs/{run}",
            "/runs/{run}/code",
            "/runs/{run}/boots/{number}",
            "/runs/{run}/boots/{number}/raw",
            "/runs/{run}/boots/{number}/raw/{path}",
            "/runs/{run}/comparison",
            "/runs/{run}/export",
            "/comparisons",
            "/comparisons/{pair}",
            "/series",
            "/series/{digest}",
            "/series/{digest}/history",
            "/branches",
            "/revisions/{commit}",
            "/changes",
            "/reports",
            "/reports/quality",
            "/reports/{report}",
            "/suites",
            "/suites/{name}",
            "/requests",
            "/requests/{request_id}",
            "/requests/{request_id}/files",
            "/queue",
            "/jobs",
            "/jobs/{job}",
            "/jobs/{job}/events",
            "/hosts",
            "/follows",
            "/feed",
        )
    },
    "GET /hosts/{host}/calibrations": reading("/hosts/rome-1/calibrations"),
    "POST /hosts/{host}/calibrations": World.calibrations,
    "POST /hosts/{host}/calibrations/check": World.checked_calibrations,
    "POST /hosts/{host}/quarantine": admins(
        "/hosts/rome-1/quarantine", {"quarantined": True, "reason": "a fan"}
    ),
    "POST /planted-steps": admins("/planted-steps", {"commit": "5" * 40}),
    "GET /subscriptions": lambda _: [Case("", "/subscriptions", ("triage", "admin"))],
    "POST /subscriptions": lambda _: [
        Case(
            "an address that nobody allowed",
            "/subscriptions",
            ("triage", "admin"),
            {"channel": "mail", "address": "a@b.example"},
        )
    ],
    "POST /subscriptions/{subscription}/mute": lambda world: world.of_subscriptions("/mute", {"days": 1}),
    "DELETE /subscriptions/{subscription}": lambda world: world.of_subscriptions("", None),
    "GET /answer": reading(f"/answer?commit={commit_of('r1')}"),
    "GET /search": reading("/search?q=seq-get"),
    "GET /series/{digest}/samples": reading(f"/series/{{digest}}/samples?revision={commit_of('r1')}"),
    "GET /jobs/{job}/stream": lambda world: [],  # of the same table; it would wait for the job's end
    **{f"GET {path}": admins(path) for path in ("/tokens", "/tasks", "/audit")},
    "POST /tokens": admins("/tokens", {"name": "fresh", "scopes": ["read"]}),
    "DELETE /tokens/{name}": admins("/tokens/gone"),
    "POST /follows": admins(
        "/follows",
        {"tree": TREE, "branch": "next", "policy": "push", "targets": [TARGET], "suites": ["local-storage"]},
    ),
    "POST /follows/{follow}/backfill": admins(
        "/follows/{follow}/backfill", {"base": "a" * 40, "head": "b" * 40}
    ),
    "DELETE /follows/{follow}": admins("/follows/{follow}"),
    "PUT /runs/{run}": World.new_runs,
    "PUT /runs/{run}/code": World.codes,
    "PUT /runs/{run}/boots/{number}": World.boots,
    "PUT /runs/{run}/boots/{number}/raw": World.archives,
    "POST /imports": lambda world: [Case("", IMPORT, UNBOUND, b"BenchmarkX-1 10 5 ns/op\n")],
    "POST /requests": lambda world: [Case("", "/requests", UNBOUND, asked("h84"), KEY)],
    "POST /requests/{request_id}/cancel": lambda world: world.cancels(
        "requests", world.known["request_id"], world.others_request
    ),
    "POST /jobs/{job}/cancel": lambda world: world.cancels("jobs", world.known["job"], world.others_job),
    "POST /jobs/{job}/retry": admins("/jobs/{job}/retry", {}),
    "POST /offers": World.offers,
    "POST /leases/{lease}/heartbeat": lambda world: world.of_leases("heartbeat", {}),
    "GET /leases/{lease}/files": lambda world: world.of_leases("files", None),
    "POST /leases/{lease}/events": lambda world: world.of_leases("events", EVENTS),
    "POST /leases/{lease}/complete": lambda world: world.of_leases(
        "complete", {"outcome": "kernel-failed", "reason": "x"}
    ),
    "POST /github/webhook": webhooks,
    # Whoever holds an identity that GitHub signed; of what is none, the body is looked at and refused.
    "POST /github/token": lambda _: [Case("what is no identity", "/github/token", EVERYBODY, {})],
    "POST /reports/{report}/triage": lambda world: [
        Case("", f"/reports/{world.report}/triage", ("triage", "admin"), {"state": "noise"})
    ],
}
"""By the operations of the description, without /api/v1."""

FORMS: dict[str, Cases] = {
    "POST /requests": lambda world: [
        Case(
            "",
            "/requests",
            UNBOUND,
            {
                **{name: value for name, value in asked("h85").items() if isinstance(value, str)},
                "platform": "amd-rome",
                "mode": "walltime",
                "suite": "local-storage",
                "profile": "standard",
                "boots": "auto",
                "key": "form",
            },
        )
    ],
    "POST /jobs/{job}/cancel": lambda world: world.cancels("jobs", world.known["job"], world.others_job),
    "POST /jobs/{job}/retry": admins("/jobs/{job}/retry", {}),
    "POST /regressions/{report}/triage": lambda world: [
        Case("", f"/regressions/{world.report}/triage", ("triage", "admin"), {"state": "noise"})
    ],
    "POST /branches": lambda world: [
        Case(
            "",
            "/branches",
            ("admin",),
            {
                "tree": "bpf",
                "target": "amd-rome:walltime",
                "suite": "local-storage",
                "profile": "standard",
                "policy": "push",
            },
        )
    ],
    "POST /branches/{follow}/backfill": admins(
        "/branches/{follow}/backfill", {"base": "a" * 40, "head": "b" * 40}
    ),
    "POST /branches/{follow}/end": admins("/branches/{follow}/end", {}),
    "POST /regressions/triage": lambda world: [
        Case(
            "", "/regressions/triage", ("triage", "admin"), {"state": "noise", f"report:{world.report}": "1"}
        )
    ],
    "POST /measure": lambda world: [Case("", "/measure", UNBOUND, {"tree": TREE})],
    "POST /subscriptions": lambda _: [
        Case(
            "an address that nobody allowed",
            "/subscriptions",
            ("triage", "admin"),
            {"channel": "mail", "address": "a@b.example"},
        )
    ],
    "POST /subscriptions/{subscription}/mute": lambda world: world.of_subscriptions("/mute", {"days": "7"}),
    "POST /subscriptions/{subscription}/end": lambda world: world.of_subscriptions("/end", {}),
    "POST /sign-in": lambda world: [],
    "POST /sign-out": lambda world: [],
}


def tries(world: World, cases: Cases) -> Iterator[tuple[str, Case]]:
    """Everybody on every object; who may, changes it, and so comes last."""
    for each in cases(world):
        made = {who: each if isinstance(each, Case) else each(who) for who in EVERYBODY}
        yield from sorted(made.items(), key=lambda one: one[0] in one[1].allowed)


def send(http: Any, method: str, case: Case) -> Any:
    """The answer to a case over the API."""
    body = case.body if isinstance(case.body, bytes | None) else json.dumps(case.body).encode()
    kind = "text/plain" if isinstance(case.body, bytes) else "application/json"
    return http.request(
        method, f"/api/v1{case.path}", content=body, headers={"Content-Type": kind, **KEY, **case.headers}
    )
