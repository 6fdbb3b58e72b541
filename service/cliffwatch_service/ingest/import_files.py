"""Takes in a file of an import format as a run of one arm: its n-th value of a metric is its n-th boot's sample."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypedDict

from psycopg import Connection

import cliffwatch
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
from cliffwatch.formats.uploads import BootUpload, RunUpload
from cliffwatch.identities import digest_of, run_digest
from cliffwatch.importing import arms_from_parsed
from cliffwatch.parsers.detect import parse_any
from cliffwatch.samples import Arm, Boot, CaseKey, Mode
from cliffwatch_service.access.authorisation import IMPORTS
from cliffwatch_service.access.tokens import Caller
from cliffwatch_service.ingest.columns import ColumnsKnown
from cliffwatch_service.ingest.ingest import content_digest, put_boot, put_run
from cliffwatch_service.ingest.uploads import boot_upload
from cliffwatch_service.refusal import Refusal
from cliffwatch_service.store import runs
from cliffwatch_service.store.work import hosts

ARM = "head"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedAs:
    """What the sender says of a file: what was measured, where and how."""

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
    """The run that it became, and the lines that could not be read. `fresh` is False where it was here already."""

    run: str
    boots: int
    samples: int
    problems: tuple[ImportProblem, ...]
    fresh: bool


def import_file(
    connection: Connection[Any], known: ColumnsKnown, text: str, about: ImportedAs, *, by: Caller, now: datetime
) -> ImportResult:
    """Raises Refusal where nothing in it can be read."""
    parsed = parse_any(text)
    problems = tuple(
        ImportProblem(line=each.line, text=each.text[:400], reason=each.reason) for each in parsed.problems[:200]
    )
    if not parsed.found:
        reason = problems[0]["reason"] if problems else "the file is empty"
        raise Refusal(422, "nothing to import", f"no result can be read: {reason}", problems=problems[:20])
    arms = arms_from_parsed(parsed, about.name)
    if len(arms) > 1:
        raise Refusal(
            422,
            "several arms",
            f"the file holds {len(arms)} arms: {', '.join(arms)}: import one at a time (`cliffwatch export RUN --arm NAME`)",
        )
    (arm,) = arms.values()
    samples = sum(len(boot.samples) for boot in arm.boots)
    host_name = f"{IMPORTS} {about.platform}"
    identity = digest_of([content_digest(text.encode()), about.platform, about.mode, about.commit])
    host = hosts.keep_host(connection, host_name, about.platform, {}, now)
    stored = runs.run_of_identity(connection, identity, host.id)
    if stored is not None:
        return ImportResult(run=stored.digest, boots=len(arm.boots), samples=samples, problems=problems, fresh=False)
    record = _record(arm, about, identity, now)
    digest = run_digest(record.identity, record.created, host_name)
    upload = RunUpload(host=host_name, record=record)
    put_run(connection, digest, upload, as_json(record), by=by, now=now, any_case=True)
    for boot in arm.boots:
        raw = as_json(_boot(boot, now))
        put_boot(connection, known, digest, boot.index, boot_upload(raw), raw, by=by, now=now)
    return ImportResult(run=digest, boots=len(arm.boots), samples=samples, problems=problems, fresh=True)


def _record(arm: Arm, about: ImportedAs, identity: str, now: datetime) -> RunRecord:
    cases: dict[CaseKey, None] = dict.fromkeys(sample.case for boot in arm.boots for sample in boot.samples)
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
                PlannedCaseRecord(suite=case.suite, benchmark=case.benchmark, params=dict(case.params), argv=())
                for case in cases
            ),
            boots=tuple(
                PlannedBootRecord(index=boot.index, block=boot.block, arm=ARM, stage=boot.stage) for boot in arm.boots
            ),
        ),
        notes=(f"imported from {about.name}",),
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
    return BootUpload(boot=about, samples=tuple(map(sample_record, boot.samples)), outcomes=())
