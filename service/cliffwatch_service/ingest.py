"""Takes in what hosts upload. Every write may come twice, and boots in any order; what is stored never changes."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson
from psycopg import Connection

from cliffwatch.catalogue.discovery import DISCOVERED
from cliffwatch.catalogue.load import load_catalogue
from cliffwatch.identities import digest_of, run_digest
from cliffwatch_service import tasks_asked
from cliffwatch_service.boot_document import pack, packed, unpacked
from cliffwatch_service.columns import ColumnsKnown, columns_for
from cliffwatch_service.environments import environment_facts, epoch_of
from cliffwatch_service.refusal import Refusal, not_found
from cliffwatch_service.store import boots, queue, runs, trees
from cliffwatch_service.uploads import BootUpload, RunUpload

_ORDER = {"running": 0, "incomplete": 1, "complete": 2}


@dataclass(frozen=True, slots=True)
class Stored:
    """What an upload came to. `fresh` is False where the very same was there already."""

    digest: str
    fresh: bool


def content_digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]


def put_run(
    connection: Connection[Any],
    digest: str,
    upload: RunUpload,
    raw: Mapping[str, Any],
    *,
    token_id: int,
    now: datetime,
    any_case: bool = False,
) -> Stored:
    """Stores run.json, or a later state of it. `raw` is the record as it came; `any_case` takes what the catalogue lacks.

    Raises Refusal.
    """
    record = upload["record"]
    expected = run_digest(raw, upload["host"])
    if digest != expected:
        raise Refusal(
            409,
            "another run",
            f"the identity, time and host in the body are of run {expected}, the address names {digest}",
        )
    if not any_case:
        _refuse_unknown_cases(upload)
    content = orjson.dumps(raw, option=orjson.OPT_SORT_KEYS)
    stored = runs.run_row(connection, digest, lock=True)
    if stored is not None:
        return _renewed(connection, stored, upload, raw, content, now)
    runs.keep_platform(connection, record["platform"])
    host = queue.keep_host(connection, upload["host"], record["platform"], {}, now)
    if host["platform"] != record["platform"]:
        raise Refusal(
            409,
            "another platform",
            f"host {upload['host']} is of platform {host['platform']}, not {record['platform']}",
        )
    facts = environment_facts(raw)
    epoch = epoch_of(raw)
    environment = runs.keep_environment(connection, digest_of([facts, epoch]), epoch, facts)
    row = runs.RunRow(
        digest=digest,
        identity=record["identity"],
        platform=record["platform"],
        mode=record["mode"],
        status=record["status"],
        host_id=host["id"],
        environment_id=environment,
        created=record["created"],
        record=packed(content),
        record_digest=content_digest(content),
        uploaded_by=token_id,
    )
    run_id = runs.insert_run(connection, row, now)
    if run_id is None:
        return Stored(digest=digest, fresh=False)  # another request brought it at the same moment
    _keep_arms(connection, run_id, upload, raw)
    _attach(connection, upload.get("job"), run_id)
    _when_complete(connection, digest)
    return Stored(digest=digest, fresh=True)


def _refuse_unknown_cases(upload: RunUpload) -> None:
    catalogue = load_catalogue()
    for place, case in enumerate(upload["record"]["plan"]["cases"]):
        suite = catalogue.suite_of(case["benchmark"])
        if case["suite"] != suite and not (suite is None and case["suite"] == DISCOVERED):
            raise Refusal(
                422,
                "unknown case",
                f"the catalogue of this service lacks benchmark {case['benchmark']!r} in suite {case['suite']!r}: update the"
                f" service, or measure it as suite {DISCOVERED!r}",
                errors=[(f"record.plan.cases.{place}", "not in the catalogue")],
            )


def _renewed(
    connection: Connection[Any],
    stored: Mapping[str, Any],
    upload: RunUpload,
    raw: Mapping[str, Any],
    content: bytes,
    now: datetime,
) -> Stored:
    digest, status = content_digest(content), upload["record"]["status"]
    if digest == stored["record_digest"]:
        return Stored(digest=stored["digest"], fresh=False)
    if _ORDER[status] < _ORDER[stored["status"]]:
        # A late copy of an earlier state says nothing new.
        return Stored(digest=stored["digest"], fresh=False)
    runs.update_run(connection, stored["id"], status, packed(content), digest, now)
    _keep_arms(connection, stored["id"], upload, raw)
    _attach(connection, upload.get("job"), stored["id"])
    _when_complete(connection, stored["digest"])
    return Stored(digest=stored["digest"], fresh=True)


def _keep_arms(connection: Connection[Any], run_id: int, upload: RunUpload, raw: Mapping[str, Any]) -> None:
    record = upload["record"]
    for name, arm in record["arms"].items():
        facts = arm["facts"]
        revision = None
        if "commit" in facts:
            revision = trees.keep_revision(
                connection,
                trees.RevisionFacts(
                    commit=facts["commit"],
                    tree_hash=facts.get("tree"),
                    parents=facts.get("parents", ()),
                    author=facts.get("author"),
                    authored=facts.get("author_date"),
                    committed=facts.get("commit_date"),
                    subject=facts.get("subject") or _subject(arm["label"]),
                    patch_id=facts.get("patch_id"),
                    release=facts.get("release"),
                ),
            )
            if "kernel" in facts:
                toolchain = raw.get("toolchain") or {}
                runs.keep_kernel(connection, facts["kernel"], revision, facts.get("config"), toolchain)
        runs.keep_arm(
            connection,
            run_id,
            name,
            revision_id=revision,
            kernel=facts.get("kernel") if revision is not None else None,
            label=arm["label"],
            failure=arm.get("failure"),
        )


def _subject(label: str) -> str | None:
    """Labels are `0123456789ab (subject)`."""
    _, _, rest = label.partition(" (")
    return rest.removesuffix(")") or None


def _attach(connection: Connection[Any], job: str | None, run_id: int) -> None:
    if job is None:
        return
    try:
        identity = UUID(job)
    except ValueError:
        raise not_found("job", job) from None
    if queue.lock_job(connection, identity) is None:
        raise not_found("job", job)
    queue.attach_run(connection, identity, run_id)


def put_boot(
    connection: Connection[Any],
    known: ColumnsKnown,
    digest: str,
    number: int,
    upload: BootUpload,
    body: bytes,
    *,
    now: datetime,
) -> Stored:
    """Stores a boot with all its samples, and asks for the analysis where it was the last one. Raises Refusal."""
    run = runs.run_row(connection, digest)
    if run is None:
        raise Refusal(404, "no such run", f"there is no run {digest}: upload its run.json first")
    about = upload["boot"]
    if about["index"] != number:
        raise Refusal(422, "another boot", f"the body is of boot {about['index']}, the address names {number}")
    arm = next((arm for arm in runs.arms_of(connection, run["id"]) if arm["name"] == about["arm"]), None)
    if arm is None:
        raise Refusal(
            422, "no such arm", f"run {digest} has no arm {about['arm']!r}", errors=[("boot.arm", "not in the run")]
        )
    raw = orjson.loads(body)
    own = content_digest(orjson.dumps(raw, option=orjson.OPT_SORT_KEYS))
    stored = boots.boot_digest(connection, run["id"], number)
    if stored is None:
        _refuse_unplanned(known, run, upload)
        columns, ordered = columns_for(connection, known, run, raw["samples"])
        row = boots.BootRow(
            run_id=run["id"],
            number=number,
            arm_id=arm["id"],
            block=about["block"],
            stage=about.get("stage") or "screen",
            layout=about.get("layout"),
            status=about["status"],
            began=about["began"],
            ended=about["ended"],
            digest=own,
            columns_id=columns,
            samples=[each["value"] for each in ordered],
            document=pack(raw, ordered),
        )
        if boots.insert_boot(connection, row, now):
            _when_complete(connection, digest)
            return Stored(digest=own, fresh=True)
        stored = boots.boot_digest(connection, run["id"], number)
    if stored != own:
        raise Refusal(
            409,
            "another boot is stored",
            f"boot {number} of run {digest} is stored with content {stored}; what came now is {own}. Nothing was changed",
            stored=stored,
            received=own,
        )
    return Stored(digest=own, fresh=False)


def _refuse_unplanned(known: ColumnsKnown, run: Mapping[str, Any], upload: BootUpload) -> None:
    """A boot measures what its run planned, and nothing else."""
    planned = known.plan(run["digest"])
    if planned is None:
        cases = orjson.loads(unpacked(bytes(run["record"])))["plan"]["cases"]
        planned = frozenset((case["suite"], case["benchmark"], tuple(case["params"].items())) for case in cases)
        known.keep_plan(run["digest"], planned)
    for place, each in enumerate(upload["samples"]):
        if (each["suite"], each["benchmark"], tuple(each["params"].items())) not in planned:
            raise Refusal(
                422,
                "unknown case",
                f"{each['benchmark']} {each['params']} is not in the plan of run {run['digest']}",
                errors=[(f"samples.{place}", "not in the run's plan")],
            )


def _when_complete(connection: Connection[Any], digest: str) -> None:
    """Asks for the analysis once the run is complete and every boot of its plan is here.

    Under the run's lock, so that of two that bring the last pieces at once the second sees what the first one brought.
    A boot whose arm has no kernel never comes: its arm says why.
    """
    run = runs.run_row(connection, digest, lock=True)
    assert run is not None
    if run["status"] != "complete":
        return
    record = orjson.loads(unpacked(bytes(run["record"])))
    gone = {name for name, arm in record["arms"].items() if "kernel" not in arm["facts"] and arm.get("failure")}
    planned = {boot["index"] for boot in record["plan"]["boots"] if boot["arm"] not in gone}
    if planned <= boots.boot_numbers(connection, run["id"]):
        tasks_asked.ask_analysis(connection, digest)
