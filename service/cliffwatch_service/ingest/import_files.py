"""Imports a file of results as a run of one arm: the n-th value of a metric is the n-th boot's sample."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypedDict, TypeVar

from psycopg import Connection

import cliffwatch
from cliffwatch.failure import Failure
from cliffwatch.formats.arms.declared_metrics import DeclaredMetricRecord
from cliffwatch.formats.arms.imported import imported_record
from cliffwatch.formats.boot_record import BootRecord, sample_record
from cliffwatch.formats.reading import as_json
from cliffwatch.formats.run_record import (
    FORMAT,
    FORMAT_VERSION,
    ArmFacts,
    ArmRecord,
    PlannedBootRecord,
    PlannedCaseRecord,
    PlanRecord,
    RunRecord,
)
from cliffwatch.formats.uploads import BootUpload
from cliffwatch.formats.values import FreeJson, outcome_record
from cliffwatch.identities import digest_of, run_digest
from cliffwatch.importing import import_text as read_imported
from cliffwatch.parsers.detect import parse_any
from cliffwatch.parsers.readings import Problem
from cliffwatch.samples import Arm, Boot, CaseKey, Mode
from cliffwatch_service.access.authorisation import IMPORTS
from cliffwatch_service.access.tokens import Caller
from cliffwatch_service.ingest.columns import ColumnsCache
from cliffwatch_service.ingest.ingest import content_digest, put_boot, put_run
from cliffwatch_service.ingest.uploads import boot_upload, run_upload
from cliffwatch_service.refusal import Refusal
from cliffwatch_service.store import runs
from cliffwatch_service.store.work import hosts

ARM = "head"
_SOUGHT = 60
"""Characters of a name by which its line is found."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportDescription:
    """What the sender declares about a file: what was measured, where and how."""

    name: str
    platform: str
    mode: Mode
    commit: str | None


class ImportProblem(TypedDict):
    """A line that could not be read, and why."""

    line: int
    text: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportResult:
    """The run that a file became."""

    run: str
    boots: int
    samples: int
    problems: tuple[ImportProblem, ...]
    """Lines that could not be read, at most 200."""
    fresh: bool
    """False if the same file was imported before."""


def import_file(
    connection: Connection[Any],
    known: ColumnsCache,
    text: str,
    about: ImportDescription,
    *,
    by: Caller,
    now: datetime,
) -> ImportResult:
    """Imports the text of a file.

    Raises Refusal if nothing in it can be read, or if it holds several arms.
    """
    imported = read_imported(text, about.name)
    if isinstance(imported, Failure):
        problems = _problems(parse_any(text).problems)
        raise Refusal(
            422, "nothing to import", f"no result can be read: {imported.message}", problems=problems[:20]
        )
    problems, arms = _problems(imported.problems), imported.arms
    if len(arms) > 1:
        raise Refusal(
            422,
            "several arms",
            f"the file holds {len(arms)} arms: {', '.join(arms)}:"
            " import one at a time (`cliffwatch export RUN --arm NAME`)",
        )
    (arm,) = arms.values()
    samples = sum(len(boot.samples) for boot in arm.boots)
    host_name = f"{IMPORTS} {about.platform}"
    identity = digest_of([content_digest(text.encode()), about.platform, about.mode, about.commit])
    host = hosts.keep_host(connection, host_name, about.platform, {}, now)
    stored = runs.run_of_identity(connection, identity, host.id)
    if stored is not None:
        return ImportResult(
            run=stored.digest, boots=len(arm.boots), samples=samples, problems=problems, fresh=False
        )
    record = _record(arm, about, identity, now)
    digest = run_digest(record.identity, record.created, host_name)
    raw_record = as_json(record)
    upload = _read_upload(run_upload, {"host": host_name, "record": raw_record}, text)
    put_run(connection, digest, upload, raw_record, by=by, now=now, any_case=True)
    for boot in arm.boots:
        raw = as_json(_boot(boot, now))
        taken = _read_upload(boot_upload, raw, text)
        put_boot(connection, known, digest, boot.index, taken, raw, by=by, now=now, any_unit=True)
    return ImportResult(run=digest, boots=len(arm.boots), samples=samples, problems=problems, fresh=True)


def _problems(problems: Sequence[Problem]) -> tuple[ImportProblem, ...]:
    return tuple(
        ImportProblem(line=each.line, text=each.text[:400], reason=each.reason) for each in problems[:200]
    )


def _read_upload(take: Callable[[FreeJson], T], raw: FreeJson, text: str) -> T:
    """Reads a part of the file as an upload. Raises Refusal with the line of the file that caused it."""
    try:
        return take(raw)
    except Refusal as refusal:
        where = refusal.errors[0][0] if refusal.errors else ""
        line = _line_with(text, _member(raw, where))
        if line is None:
            raise
        detail = f"line {line} of the file: {refusal.detail}"
        raise Refusal(refusal.status, refusal.title, detail, errors=refusal.errors, line=line) from None


def _member(raw: object, where: str) -> object:
    """Returns the value at a path such as samples.3.unit, or the last existing value on the way to it."""
    for name in where.split("."):
        if isinstance(raw, dict) and name in raw:
            raw = raw[name]
        elif isinstance(raw, list | tuple) and name.isdecimal() and int(name) < len(raw):
            raw = raw[int(name)]
    return raw


def _line_with(text: str, content: object) -> int | None:
    """Returns the number of the first line with a name, or with a sample's benchmark; None if none has."""
    name = content.get("benchmark", "") if isinstance(content, dict) else content
    if not isinstance(name, str) or not name:
        return None
    part = name.split("/")[-1][:_SOUGHT] or name[:_SOUGHT]
    return next((number for number, line in enumerate(text.splitlines(), start=1) if part in line), None)


def _declared(arm: Arm) -> tuple[DeclaredMetricRecord, ...]:
    """Returns what the user's own suites declare about the metrics in the file."""
    units = {
        (each.case.suite, each.case.benchmark, each.metric): each.unit
        for boot in arm.boots
        for each in boot.samples
    }
    return tuple(
        DeclaredMetricRecord(
            suite=key[0],
            benchmark=key[1],
            metric=key[2],
            unit=units[key],
            better=traits.better,
            primary=traits.primary,
            assume=traits.assume,
            repeatability=traits.repeatability,
            empty_loop=traits.empty_loop,
        )
        for key, traits in arm.declared.items()
        if key in units
    )


def _record(arm: Arm, about: ImportDescription, identity: str, now: datetime) -> RunRecord:
    cases: dict[CaseKey, None] = {}
    for boot in arm.boots:
        cases.update(dict.fromkeys(sample.case for sample in boot.samples))
        cases.update(dict.fromkeys(outcome.case for outcome in boot.outcomes))
    return RunRecord(
        format=FORMAT,
        format_version=FORMAT_VERSION,
        cliffwatch_version=cliffwatch.__version__,
        created=now.isoformat(),
        status="complete",
        identity=identity,
        mode=about.mode,
        platform=about.platform,
        suites=tuple(sorted({case.suite for case in cases})),
        tree="",
        arms=(ArmRecord(name=ARM, label=about.name, facts=ArmFacts(commit=about.commit)),),
        plan=PlanRecord(
            seed=0,
            cases=tuple(
                PlannedCaseRecord(
                    suite=case.suite, benchmark=case.benchmark, params=dict(case.params), argv=()
                )
                for case in cases
            ),
            boots=tuple(
                PlannedBootRecord(index=boot.index, block=boot.block, arm=ARM, stage=boot.stage)
                for boot in arm.boots
            ),
        ),
        declared=_declared(arm),
        notes=(f"imported from {about.name}",),
        imported=imported_record(arm),
    )


def _boot(boot: Boot, now: datetime) -> BootUpload:
    about = BootRecord(
        index=boot.index,
        block=boot.block,
        arm=ARM,
        stage=boot.stage,
        began=now.isoformat(),
        ended=now.isoformat(),
        status="complete",
    )
    return BootUpload(
        boot=about,
        samples=tuple(map(sample_record, boot.samples)),
        outcomes=tuple(map(outcome_record, boot.outcomes)),
    )
