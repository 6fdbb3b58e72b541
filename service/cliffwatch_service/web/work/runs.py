"""The pages of runs, their boots and their raw outputs."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response, StreamingResponse
from psycopg import Connection

from cliffwatch.comparing.validity import host_warning, rehearsal_warning
from cliffwatch.formats.run_record import PlannedCaseRecord, RunRecord
from cliffwatch.formats.values import MOST_BOOTS, OutcomeRecord
from cliffwatch.parsers.splats import find_splats
from cliffwatch_service.compare.naming import find_run
from cliffwatch_service.compare.several import has_other_arms
from cliffwatch_service.http.context import ServiceHere
from cliffwatch_service.http.cursors import cursor_of, identity, moment, read_cursor
from cliffwatch_service.ingest.boot_document import BootAccount, account_of
from cliffwatch_service.ingest.raw_outputs.archives import OddArchive
from cliffwatch_service.ingest.raw_outputs.storing import raw_file
from cliffwatch_service.ingest.stored_records import stored_record
from cliffwatch_service.refusal import Refusal, not_found
from cliffwatch_service.store import boots, comparisons, overview, run_arms, runs, trees
from cliffwatch_service.store.boots import BootRow, RawFileListed
from cliffwatch_service.store.comparisons import StoredComparison
from cliffwatch_service.store.run_arms import ArmRow
from cliffwatch_service.store.runs import RunsWanted
from cliffwatch_service.store.work import queue
from cliffwatch_service.web.compare.conditions import flat_conditions
from cliffwatch_service.web.layout.render import page
from cliffwatch_service.web.layout.session import ReaderHere
from cliffwatch_service.web.layout.wording import verdict_words

router = APIRouter()

_PAGE = 50

RunId = Annotated[str, Path(pattern="^[0-9a-fA-F]{7,32}$")]
"""A run's digest, whole or abbreviated as on pages."""
BootNumber = Annotated[int, Path(ge=1, le=MOST_BOOTS)]
Text = Annotated[str, Query(max_length=200)]


@router.get("/runs")
def list_runs(
    request: Request,
    service: ServiceHere,
    visitor: ReaderHere,
    platform: Text = "",
    cursor: Annotated[str | None, Query(max_length=300)] = None,
) -> Response:
    at, number = read_cursor(cursor, moment, identity)
    wanted = RunsWanted(platform=platform or None, at=at, number=number, limit=_PAGE + 1)
    with service.transaction() as connection:
        rows = runs.list_runs(connection, wanted)
        targets = overview.list_targets(connection)
        compared = comparisons.counts_of_runs(connection, [row.id for row in rows])
    following = cursor_of(rows[_PAGE - 1].received, rows[_PAGE - 1].id) if len(rows) > _PAGE else None
    platforms = list(dict.fromkeys(each.platform for each in targets))
    return page(
        request,
        visitor,
        "work/runs.html",
        rows=rows[:_PAGE],
        following=following,
        platform=platform,
        platforms=platforms,
        compared=compared,
        verdict_words=verdict_words,
    )


@router.get("/runs/{run}")
def show_run(run: RunId, request: Request, service: ServiceHere, visitor: ReaderHere) -> Response:
    """Shows a run: failures first, then every boot."""
    with service.transaction() as connection:
        row = find_run(connection, run)
        record = stored_record(row)
        arms = run_arms.arms_of(connection, row.id)
        stored_boots = boots.boots_of(connection, row.id)
        documents = _documents(connection, row.id, stored_boots)
        job = queue.job_of_run(connection, row.id)
        compared = _comparison(connection, arms)
        revisions = trees.revision_rows(connection, [arm.revision_id for arm in arms if arm.revision_id])
    done = {boot.number for boot in stored_boots}
    planned = record.plan.boots
    return page(
        request,
        visitor,
        "work/run.html",
        run=row,
        record=record,
        arms=[(arm, None if arm.revision_id is None else revisions.get(arm.revision_id)) for arm in arms],
        warnings=(*rehearsal_warning(record.platform), *host_warning(record.host_faults)),
        failures=[(arm.name, arm.failure) for arm in record.arms if arm.failure is not None],
        boots=stored_boots,
        documents=documents,
        planned=planned,
        outstanding=[boot for boot in planned if boot.index not in done],
        outcomes=_outcomes(documents),
        case_of=partial(case_in_plan, record),
        conditions=flat_conditions(record),
        job=job,
        compared=compared,
        verdict_words=verdict_words,
        other_arms=has_other_arms(arms),
        programs={each.suite: each.name for each in record.programs},
    )


def _documents(
    connection: Connection[Any], run_id: int, stored_boots: Sequence[BootRow]
) -> dict[int, BootAccount]:
    """Returns the accounts of the boots, without samples, by boot number."""
    documents = {}
    for boot in stored_boots:
        whole = boots.whole_boot(connection, run_id, boot.number)
        if whole is not None:
            documents[boot.number] = account_of(bytes(whole.content))
    return documents


def _comparison(connection: Connection[Any], arms: Sequence[ArmRow]) -> StoredComparison | None:
    by_name = {arm.name: arm.id for arm in arms}
    if not {"base", "head"} <= set(by_name):
        return None
    return comparisons.comparison_of_arms(connection, by_name["base"], by_name["head"])


def _outcomes(documents: Mapping[int, BootAccount]) -> list[tuple[int, OutcomeRecord]]:
    """Returns at most 200 outcomes other than `ok`, each with its boot number."""
    return [
        (number, outcome)
        for number, document in documents.items()
        for outcome in document.outcomes
        if outcome.status != "ok"
    ][:200]


@router.get("/runs/{run}/boots/{number}")
def show_boot(
    run: RunId, number: BootNumber, request: Request, service: ServiceHere, visitor: ReaderHere
) -> Response:
    """Shows a boot: its outcomes, the kernel's log and all raw outputs."""
    with service.transaction() as connection:
        row = find_run(connection, run)
        whole = boots.whole_boot(connection, row.id, number)
        if whole is None:
            raise not_found("boot", f"{run}/{number}")
        about = boots.raw_about(connection, row.id, number)
        arm = next(boot.arm for boot in boots.boots_of(connection, row.id) if boot.number == number)
    document = account_of(bytes(whole.content))
    record = stored_record(row)
    return page(
        request,
        visitor,
        "work/boot.html",
        run=row,
        number=number,
        arm=arm,
        document=document,
        outputs=outputs_of(about.files if about else (), record),
        case_of=partial(case_in_plan, record),
        quoted=quote,
    )


_OF_CASE = re.compile(r"(?:^|/)(\d{3,})-[^/]*$")


def case_in_plan(record: RunRecord, name: str | None) -> PlannedCaseRecord | None:
    """Returns the case of an output file; None if it belongs to no case.

    The number in the file name is the index of the case in the run's plan.
    """
    cases = record.plan.cases
    numbered = _OF_CASE.search(name or "")
    index = int(numbered[1]) if numbered else len(cases)
    return cases[index] if index < len(cases) else None


def outputs_of(
    files: Sequence[RawFileListed], record: RunRecord
) -> list[tuple[RawFileListed, PlannedCaseRecord | None]]:
    """Pairs a boot's output files with their cases, None for a file without one.

    The kernel's log comes first, then the other files without a case, then the files of cases.
    """
    outputs = [(file, case_in_plan(record, file["name"])) for file in files]
    return sorted(outputs, key=lambda each: (not _is_log(each[0]), each[1] is not None, each[0]["name"]))


def _is_log(file: RawFileListed) -> bool:
    return str(file["name"]).rpartition("/")[2].startswith("dmesg")


@router.get("/runs/{run}/boots/{number}/files/{path:path}")
def show_output(
    run: RunId,
    number: BootNumber,
    path: Annotated[str, Path(max_length=500)],
    request: Request,
    service: ServiceHere,
    visitor: ReaderHere,
    plain: Annotated[int, Query(ge=0, le=1)] = 0,
) -> Response:
    """Shows a raw output with its splats highlighted. `plain=1` returns the file itself."""
    with service.transaction() as connection:
        row = find_run(connection, run)
    file = raw_file(service.transaction, row.digest, number, path)
    if plain:
        headers = {
            "X-Content-Type-Options": "nosniff",
            "Content-Security-Policy": "sandbox; default-src 'none'",
            "Cache-Control": "private, no-cache",
            "Content-Length": str(file.size),
        }
        return StreamingResponse(file.pieces, media_type="text/plain; charset=utf-8", headers=headers)
    try:
        shown = cut_output(file.pieces, file.size)
    except OddArchive as error:
        raise Refusal(404, "damaged output", f"{path!r} of boot {number} cannot be read: {error}") from None
    return page(
        request,
        visitor,
        "work/output.html",
        run=row.digest,
        number=number,
        name=path,
        of_case=case_in_plan(stored_record(row), path),
        lines=mark_lines(shown.text),
        splats=find_splats(shown.text),
        hidden_splats=shown.hidden_splats,
        left=shown.left,
    )


_SHOWN = 400_000
"""Most characters of an output on a page. The page links to the whole output."""

_SEARCHED = 1 << 20
"""Bytes from the start that are searched for splats, shown or not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShortenedOutput:
    """A shortened output."""

    text: str
    left: int
    """Characters left out in the middle; bytes if the output is longer than about 1 MiB."""
    hidden_splats: int
    """Splats in the first 1 MiB that are not shown."""


def cut_output(pieces: Iterator[bytes], size: int) -> ShortenedOutput:
    """Keeps the beginning and the end of an output of `size` bytes.

    The end matters because it has the kernel's last messages.
    """
    first = bytearray()
    for piece in pieces:
        first += piece
        if len(first) >= _SEARCHED:
            break
    begin = first.decode(errors="replace")
    if len(first) == size:
        left = len(begin) - _SHOWN
        if left <= 0:
            return ShortenedOutput(text=begin, left=0, hidden_splats=0)
        end = begin[-_SHOWN // 2 :]
    else:
        left = size - _SHOWN
        end = _last(pieces, bytes(first[-_SHOWN // 2 :])).decode(errors="replace")
    text = f"{begin[: _SHOWN // 2]}\n… {left:,} characters left out here …\n{end}"
    return ShortenedOutput(
        text=text, left=left, hidden_splats=len(find_splats(begin)) - len(find_splats(text))
    )


def _last(pieces: Iterator[bytes], end: bytes) -> bytes:
    for piece in pieces:
        end = (end + piece)[-_SHOWN // 2 :]
    return end


def mark_lines(text: str) -> list[tuple[str, str]]:
    """Returns each line with its kind: `first` for the first line of a splat, `splat` for its other lines.

    The kind of all other lines is empty.
    """
    firsts, within = set(), set()
    for splat in find_splats(text):
        block = splat.text.split("\n")
        firsts.add(block[0])
        within |= set(block)
    return [
        ("first" if line[:300] in firsts else "splat" if line[:300] in within else "", line)
        for line in text.splitlines()
    ]
