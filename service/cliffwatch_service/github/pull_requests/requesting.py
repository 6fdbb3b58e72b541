"""Requests measurements for pull requests, each once, and cancels those that they replace."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg import Connection

from cliffwatch.formats.reading import as_json
from cliffwatch.formats.work import Priority
from cliffwatch.identities import digest_of
from cliffwatch.trees.addresses import read_address
from cliffwatch_service.access.tokens import Caller
from cliffwatch_service.github.parts import ASKER
from cliffwatch_service.github.pull_requests.selections import Selection
from cliffwatch_service.jobs.cancelling import cancel
from cliffwatch_service.jobs.requests import RequestDraft, store_request
from cliffwatch_service.jobs.targets import refuse_unoffered
from cliffwatch_service.jobs.trees_allowed import refuse_tree
from cliffwatch_service.runtime.settings import Settings
from cliffwatch_service.store import follows, tokens
from cliffwatch_service.store.github import pull_requests
from cliffwatch_service.store.github.pull_requests import MeasurementRow, NewMeasurement
from cliffwatch_service.store.work import queue

_ENDED = frozenset({"done", "failed"})


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasurementRequest:
    """What to measure of a pull request's head."""

    pull_request: int
    """Row id of the pull request."""
    name: str
    """Repository as OWNER/NAME."""
    number: int
    """GitHub's number of the pull request."""
    pull_head: str
    """The head at GitHub."""
    base: str
    """The base that is built."""
    head: str
    """The head that is built, without commits at the end that touch only CI files."""
    version: int | None
    """Version of a mailing list series; None for other pull requests."""
    selection: Selection


def request_measurement(
    connection: Connection[Any], request: MeasurementRequest, settings: Settings, now: datetime
) -> bool:
    """Requests a measurement unless the same one already stands. Returns whether a request was made.

    A new request supersedes all others of the pull request. Raises Refusal if the tree is not allowed, a
    suite is unknown or no host offers a target.
    """
    selection = request.selection
    key = digest_of(
        [
            *(
                request.pull_head,
                request.base,
                request.head,
                sorted(selection.targets),
                sorted(selection.suites),
            ),
            *(selection.profile, selection.boots, selection.again, as_json(selection.setup)),
        ]
    )
    before = pull_requests.measurements_of(connection, request.pull_request)
    same = [each for each in before if each.key.split(" ")[0] == key]
    if _is_standing(connection, request, before, same, now):
        return False
    row = NewMeasurement(
        pull_request=request.pull_request,
        pull_head=request.pull_head,
        base=request.base,
        head=request.head,
        version=request.version,
        key=f"{key} {len(same)}",
        again=bool(selection.again),
    )
    number = pull_requests.keep_measurement(connection, row, now)
    assert number is not None
    _supersede(connection, (each for each in before if each.state == "asked"), now)
    _ask(connection, request, number, settings, now)
    return True


def _is_standing(
    connection: Connection[Any],
    request: MeasurementRequest,
    before: Sequence[MeasurementRow],
    same: Sequence[MeasurementRow],
    now: datetime,
) -> bool:
    """True if no new request is needed.

    That is so if the same measurement is running, done or cancelled by somebody, or if a command already
    requested another measurement of this head.
    """
    if request.selection.again:
        return bool(same)  # a comment requests only once, whatever the outcome
    supersede_others(connection, request.pull_request, request.pull_head, now)
    if any(
        each.again and each.state != "superseded" and each.pull_head == request.pull_head for each in before
    ):
        return True
    standing = [each for each in same if each.state != "superseded" or _is_done(connection, each.id)]
    if standing and standing[0].state == "superseded":
        pull_requests.set_measurements(connection, [standing[0].id], "asked")
    return bool(standing)


def _is_done(connection: Connection[Any], measurement: int) -> bool:
    jobs = [
        queue.job_row(connection, job) for job in pull_requests.jobs_of_measurement(connection, measurement)
    ]
    return bool(jobs) and all(job is not None and job.state in _ENDED for job in jobs)


def _ask(
    connection: Connection[Any],
    request: MeasurementRequest,
    measurement: int,
    settings: Settings,
    now: datetime,
) -> None:
    tree = tree_of(connection, request.name, settings)
    refuse_tree(connection, tree, settings.trees)
    priority: Priority = "person" if request.selection.again else "push"
    asked = RequestDraft(
        tree=tree,
        base=request.base,
        head=request.head,
        targets=request.selection.targets,
        suites=request.selection.suites,
        profile=request.selection.profile,
        boots=request.selection.boots,
        setup=request.selection.setup,
        priority=priority,
        note=f"{request.name}#{request.number}",
    )
    asker = tokens.keep_asker(connection, ASKER, now)
    row, _ = store_request(
        connection, asked, key=f"measurement {measurement}", token_id=asker, who=ASKER, now=now
    )
    refuse_unoffered(connection, asked.targets, asked.needs)
    pull_requests.add_request(connection, measurement, row.id)


def tree_of(connection: Connection[Any], name: str, settings: Settings) -> str:
    """Returns the URL of a repository, which also holds the heads of pull requests.

    If the repository is followed, the URL is spelled as in the follow.
    """
    address = f"{settings.github_web}/{name}"
    same = {read_address(address), read_address(f"{address}.git")}
    followed = (row.tree for row in follows.list_follows(connection))
    return next((tree for tree in followed if read_address(tree) in same), f"{address}.git")


def supersede_others(connection: Connection[Any], pull_request: int, head: str, now: datetime) -> None:
    """Cancels the measurements of other heads."""
    others = pull_requests.measurements_of(connection, pull_request)
    _supersede(connection, (each for each in others if each.state == "asked" and each.pull_head != head), now)


def has_running(connection: Connection[Any], pull_request: int) -> bool:
    """True if a measurement of a pull request has not ended."""
    return bool(_running(connection, pull_request))


def cancel_all(connection: Connection[Any], pull_request: int, now: datetime) -> None:
    """Cancels all unfinished measurements of a pull request at somebody's request."""
    running = _running(connection, pull_request)
    for number in running:
        _cancel_jobs(connection, number, now)
    pull_requests.set_measurements(connection, running, "cancelled")


def _running(connection: Connection[Any], pull_request: int) -> list[int]:
    asked = (
        each for each in pull_requests.measurements_of(connection, pull_request) if each.state == "asked"
    )
    return [each.id for each in asked if not _is_done(connection, each.id)]


def drop_all(connection: Connection[Any], pull_request: int, now: datetime) -> None:
    """Cancels all unfinished measurements of a pull request that is closed or out of reach.

    They are requested anew if it comes back.
    """
    asked = [
        each for each in pull_requests.measurements_of(connection, pull_request) if each.state == "asked"
    ]
    _supersede(connection, (each for each in asked if not _is_done(connection, each.id)), now)


def _supersede(connection: Connection[Any], measurements: Iterable[MeasurementRow], now: datetime) -> None:
    gone = [each.id for each in measurements]
    for number in gone:
        _cancel_jobs(connection, number, now)
    pull_requests.set_measurements(connection, gone, "superseded")


def _cancel_jobs(connection: Connection[Any], measurement: int, now: datetime) -> None:
    """Cancels only the jobs that the service itself requested. Jobs of other requesters go on."""
    asker = tokens.keep_asker(connection, ASKER, now)
    caller = Caller(name=ASKER, token_id=asker, scopes=frozenset({"upload"}))
    for job in pull_requests.jobs_of_measurement(connection, measurement):
        row = queue.job_row(connection, job)
        if row is not None and row.state in ("queued", "leased", "parked"):
            cancel(connection, job, by=caller, now=now)
