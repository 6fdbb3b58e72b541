"""Takes in a file of an import format as a run of one arm: its n-th value of a metric is its n-th boot's sample."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypedDict, cast

from psycopg import Connection

import cliffwatch
from cliffwatch.identities import digest_of, run_digest
from cliffwatch.importing import arms_from_parsed
from cliffwatch.parsers.detect import parse_any
from cliffwatch.results import FORMAT, FORMAT_VERSION, case_to_json, sample_to_json
from cliffwatch.samples import Arm, CaseKey
from cliffwatch_service.access.authorisation import IMPORTS
from cliffwatch_service.access.tokens import Caller
from cliffwatch_service.ingest.columns import ColumnsKnown
from cliffwatch_service.ingest.ingest import content_digest, put_boot, put_run
from cliffwatch_service.ingest.uploads import BootUpload, RunUpload
from cliffwatch_service.refusal import Refusal
from cliffwatch_service.store import runs
from cliffwatch_service.store.work import hosts

ARM = "head"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedAs:
    """What the sender says of a file: what was measured, where and how."""

    name: str
    platform: str
    mode: str
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
    if not parsed.values:
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
    digest = run_digest(record, host_name)
    upload = {"host": host_name, "record": {**record, "created": now}, "job": None}
    put_run(connection, digest, cast("RunUpload", upload), record, by=by, now=now, any_case=True)
    for boot in record["plan"]["boots"]:
        content = _boot(arm, boot["index"], now)
        raw = json.loads(json.dumps(content))
        typed = {**content, "boot": {**content["boot"], "began": now, "ended": now}}
        put_boot(connection, known, digest, boot["index"], cast("BootUpload", typed), raw, by=by, now=now)
    return ImportResult(run=digest, boots=len(arm.boots), samples=samples, problems=problems, fresh=True)


def _record(arm: Arm, about: ImportedAs, identity: str, now: datetime) -> dict[str, Any]:
    cases: dict[CaseKey, None] = dict.fromkeys(sample.case for boot in arm.boots for sample in boot.samples)
    facts: Mapping[str, Any] = {} if about.commit is None else {"commit": about.commit}
    return {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "cliffwatch_version": cliffwatch.__version__,
        "created": now.isoformat(),
        "status": "complete",
        "identity": identity,
        "mode": about.mode,
        "platform": about.platform,
        "suites": sorted({case.suite for case in cases}),
        "tree": "",
        "arms": {ARM: {"label": about.name, "facts": facts, "failure": None}},
        "plan": {
            "seed": 0,
            "stages": None,
            "cases": [{**case_to_json(case), "argv": []} for case in cases],
            "boots": [
                {"index": boot.index, "block": boot.block, "arm": ARM, "stage": boot.stage} for boot in arm.boots
            ],
        },
        "left_out": [],
        "notes": [f"imported from {about.name}"],
    }


def _boot(arm: Arm, number: int, now: datetime) -> dict[str, Any]:
    boot = next(boot for boot in arm.boots if boot.index == number)
    about = {
        "index": number,
        "block": boot.block,
        "arm": ARM,
        "stage": boot.stage,
        "began": now.isoformat(),
        "ended": now.isoformat(),
        "status": "complete",
    }
    return {
        "boot": about,
        "environment": {},
        "samples": [sample_to_json(each) for each in boot.samples],
        "outcomes": [],
    }
