"""Fills an empty database with the demonstration, through the functions that serve hosts and people."""

import io
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from importlib import resources
from io import BytesIO
from typing import Any, Literal, cast

import orjson
import zstandard
from psycopg import Connection

from cliffwatch.counting import count_noun
from cliffwatch.formats.reading import as_json, convert
from cliffwatch.formats.run_record import RunRecord
from cliffwatch.formats.uploads import RunUpload
from cliffwatch.formats.work import Priority
from cliffwatch.identities import run_digest
from cliffwatch.samples import SERVICE_PROFILE
from cliffwatch_service.access.tokens import Caller, make_token
from cliffwatch_service.command.demonstration import measured
from cliffwatch_service.command.demonstration.demo_run import DemoBoot, DemoRun
from cliffwatch_service.command.demonstration.measured import measured_runs
from cliffwatch_service.compare.analysis import analyse_run
from cliffwatch_service.history.changes import take_changes
from cliffwatch_service.history.follow import follow_branch
from cliffwatch_service.history.triage import triage
from cliffwatch_service.history.watching.branch import watch_branch
from cliffwatch_service.ingest.columns import ColumnsCache
from cliffwatch_service.ingest.ingest import put_boot, put_run
from cliffwatch_service.ingest.kernel_code import put_code
from cliffwatch_service.ingest.raw_outputs.storing import put_raw
from cliffwatch_service.ingest.uploads import boot_upload
from cliffwatch_service.jobs.leases import Granted, Offer, add_events, offer
from cliffwatch_service.jobs.requests import RequestDraft, store_request
from cliffwatch_service.refusal import Refusal
from cliffwatch_service.store import database, follows, tokens, trees
from cliffwatch_service.store.follows import FollowFacts
from cliffwatch_service.store.history import reports
from cliffwatch_service.store.history.reports import ReportState, ReportsWanted
from cliffwatch_service.store.work import hosts
from cliffwatch_service.store.work.queue import HostAbilities

BRANCH = "for-next"
MEASURED_BRANCH = "measured"
TREE = "https://git.example.org/demonstration.git"
_WHO = "demonstration"
_A_YEAR = timedelta(days=365)


def fill(connection: Connection[Any], now: datetime, report: Callable[[str], object]) -> None:
    """Fills the database in one transaction. Raises Refusal if it has results or the demonstration already.

    Calls `report` with a line of progress after each kind of data.
    """
    if database.is_demonstration(connection):
        raise Refusal(
            409, "filled already", "this database has the demonstration already: start `cliffwatch serve`"
        )
    if database.holds_results(connection):
        raise Refusal(
            409, "not empty", "this database has results: name an empty one with --data-dir or DATABASE_URL"
        )
    make_token(connection, _WHO, ["admin"], by=_WHO, now=now)
    kinds = (
        ("real runs, measured in icount", measured_runs(now)),
        ("published results", recorded_runs("published", now)),
        ("made-up runs of the measured kernels", recorded_runs("elsewhere", now)),
        ("made-up history", recorded_runs("history", now)),
        ("a made-up pull request", recorded_runs("pull request", now)),
    )
    for what, runs in kinds:
        report(f"{what}: {count_noun(_keep_all(connection, runs), 'run')}")
    _follow(connection, MEASURED_BRANCH, _line(measured_runs(now)[:6]), [("emulated-x86-64", "icount")], now)
    line = _line(recorded_runs("history", now))
    _follow(connection, BRANCH, line, [("amd-rome", "walltime"), ("intel-skylake", "walltime")], now)
    _triage(connection, now)
    _queue(connection, line[-2], line[-1], now)
    database.mark_demonstration(connection, now)
    report("branches, triage and queue")


def _keep_all(connection: Connection[Any], runs: Iterable[DemoRun]) -> int:
    count = 0
    for run in runs:
        _keep(connection, run)
        count += 1
    return count


def _keep(connection: Connection[Any], run: DemoRun) -> None:
    """Stores a run as its host would have uploaded it, then analyses it as a task would."""
    digest = run_digest(run.record.identity, run.record.created, run.host)
    upload, raw_record = RunUpload(host=run.host, record=run.record), as_json(run.record)
    by = _filler(connection)
    columns = ColumnsCache()
    put_run(
        connection, digest, upload, raw_record, by=by, now=run.received, any_case=True, of_history=True
    )  # no host has taken a lease
    if run.code is not None:
        put_code(connection, digest, run.code, by=by)
    for boot in run.boots:
        raw = boot.upload
        put_boot(connection, columns, digest, boot.number, boot_upload(raw), raw, by=by, now=run.received)
        if boot.raw is not None:
            put_raw(connection, columns, digest, boot.number, BytesIO(boot.raw), by=by, now=run.received)
    comparison = analyse_run(connection, digest, run.received)
    if comparison is not None:
        take_changes(connection, comparison, run.received)


def _filler(connection: Connection[Any]) -> Caller:
    return Caller(name=_WHO, token_id=tokens.token_named(connection, _WHO), scopes=frozenset({"admin"}))


def _line(runs: Iterable[DemoRun]) -> list[str]:
    """Returns the commits of runs that each compare a revision with its parent, oldest first."""
    arms = [run.record.arm_by_name for run in runs]
    sides = (arms[0]["base"], *(each["head"] for each in arms))
    return list(dict.fromkeys(str(arm.facts.commit) for arm in sides))


def _follow(
    connection: Connection[Any],
    branch: str,
    commits: list[str],
    targets: list[tuple[str, str]],
    now: datetime,
) -> None:
    row = FollowFacts(
        tree=TREE,
        branch=branch,
        policy="commit",
        targets=targets,
        suites=["local-storage"],
        profile=SERVICE_PROFILE,
    )
    number = follow_branch(connection, row, who=_WHO, now=now)
    tree = trees.keep_tree(connection, TREE, now)
    identity = trees.keep_branch(connection, tree, branch)
    revisions = trees.keep_revisions(connection, [trees.RevisionFacts(commit=commit) for commit in commits])
    trees.set_branch_end(connection, identity, 1, revisions)
    watch_branch(connection, identity, now)
    # The tree does not exist, so the next poll is 100 years away.
    follows.set_polled(connection, number, now + 100 * _A_YEAR, problem=None)


def _triage(connection: Connection[Any], now: datetime) -> None:
    """Triages some of the reports."""
    listed = reports.list_reports(connection, ReportsWanted(states=["new"], limit=100))
    judgements: dict[str | None, tuple[ReportState, str]] = {
        "bpf: Count hash map lookups for bpftool": ("expected", "the counters are worth it"),
        "bpf: Prefetch the next local storage element": (
            "acknowledged",
            "prefetching past the end of the list",
        ),
    }
    for report in listed:
        if report.subject in judgements:
            state, note = judgements[report.subject]
            when = now - timedelta(hours=5)
            triage(connection, report.digest, state=state, owner=_WHO, note=note, by=_WHO, now=when)


def _queue(connection: Connection[Any], before: str, newest: str, now: datetime) -> None:
    """Makes one running job, two waiting jobs and two hosts."""
    by = _filler(connection)
    assert by.token_id is not None
    for number, (platform, mode, priority) in enumerate(
        (
            ("emulated-x86-64", "icount", "person"),
            ("amd-rome", "walltime", "push"),
            ("amd-rome", "walltime", "backfill"),
        )
    ):
        asked = RequestDraft(
            tree=TREE,
            base=before,
            head=newest,
            targets=[(platform, mode)],
            suites=["local-storage"],
            profile=SERVICE_PROFILE,
            boots="auto",
            priority=cast("Priority", priority),
            note="part of the demonstration",
        )
        store_request(
            connection,
            asked,
            key=f"demonstration {number}",
            token_id=by.token_id,
            who=by.name,
            now=now - timedelta(minutes=30 - number),
        )
    checks = [
        {
            "name": "huge pages",
            "status": "warn",
            "finding": "madvise",
            "fixes": ["echo never > /sys/kernel/mm/transparent_hugepage/enabled"],
        }
    ]
    about = {"modes": ["icount"], "doctor": {"verdict": "fit for icount runs", "checks": checks}}
    given = Offer(
        host=measured.HOST,
        platform="emulated-x86-64",
        modes=["icount"],
        isolation="bubblewrap",
        abilities=HostAbilities(setups=True, build_images=[], cpus=2),
        about=about,
    )
    leased = offer(connection, given, by=by, lease_for=_A_YEAR, now=now - timedelta(minutes=4))
    assert isinstance(leased, Granted)
    lines = (
        "[     0 s] tree: demonstration.git",
        f"[     1 s] tree: {before[:12]} .. {newest[:12]} (1 s)",
        "[     1 s] build base: linux 6.12.117",
        "[    26 s] build base: built (25 s)",
        "[    26 s] build head: linux 6.12.117",
        "[    52 s] build head: built (26 s)",
        "[    53 s] build bench: of head cached, 54 benchmarks (0 s)",
        "[    53 s] measure: 4 boots, 21 cases each",
        "[   121 s] measure:  34%, boot 2 of 4 (head): local-storage-cache-seq-get, about 2 min 10 s left",
    )
    events = [
        (number, "line", {"text": line}, now - timedelta(seconds=240 - 20 * number))
        for number, line in enumerate(lines)
    ]
    add_events(connection, leased.lease, events, by=by)
    hosts.keep_host(
        connection, "skylake-1", "intel-skylake", {"modes": ["walltime"]}, now - timedelta(hours=7)
    )


Kind = Literal["published", "elsewhere", "history", "pull request"]
"""`elsewhere`: kernels of measured.py on other platforms. The others say where their revisions come from."""


def recorded_runs(kind: Kind, now: datetime) -> Iterator[DemoRun]:
    """Yields the runs of one kind, in the order of their revisions."""

    def at(seconds: float) -> datetime:
        return now + timedelta(seconds=seconds)

    packed = (resources.files("cliffwatch_service.command.demonstration") / "recorded.jsonl.zst").read_bytes()
    for line in io.BufferedReader(zstandard.ZstdDecompressor().stream_reader(packed)):
        run = orjson.loads(line)
        if run["kind"] != kind:
            continue
        for about in (boot["boot"] for boot in run["boots"]):
            about |= {name: at(about[name]).isoformat() for name in ("began", "ended")}
        run["record"]["created"] = at(run["record"]["created"]).isoformat()
        boots = [DemoBoot(boot["boot"]["index"], boot) for boot in run["boots"]]
        yield DemoRun(run["host"], convert(run["record"], RunRecord), boots, at(run["received"]))
