"""Stores uploads of hosts. Each may come twice, and boots in any order; stored content never changes."""

import hashlib
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import orjson
from psycopg import Connection

from cliffwatch.catalogue.discovery import ALL, DISCOVERED
from cliffwatch.catalogue.load import load_catalogue
from cliffwatch.formats.run_record import RunRecord
from cliffwatch.formats.uploads import BootUpload, RunUpload
from cliffwatch.formats.values import FreeJson
from cliffwatch.identities import digest_of, run_digest
from cliffwatch_service.access.authorisation import refuse_foreign_run
from cliffwatch_service.access.tokens import Caller
from cliffwatch_service.ingest.arms import keep_arms
from cliffwatch_service.ingest.boot_document import pack, pack_content
from cliffwatch_service.ingest.columns import ColumnsCache, columns_for
from cliffwatch_service.ingest.environments import environment_facts, epoch_of
from cliffwatch_service.ingest.plan import plan_of, refuse_other_boot, refuse_unplanned
from cliffwatch_service.ingest.provenance import is_of_history, lease_of_upload
from cliffwatch_service.ingest.run_states import refuse_another_record
from cliffwatch_service.ingest.stored_records import stored_record
from cliffwatch_service.ingest.uploads import refuse_unknown_units, time_of
from cliffwatch_service.refusal import Refusal
from cliffwatch_service.store import background, boots, run_arms, runs
from cliffwatch_service.store.runs import NewRun, RunRow
from cliffwatch_service.store.work import hosts, leases, queue
from cliffwatch_service.store.work.leases import LeaseRow

_ORDER = {"running": 0, "incomplete": 1, "complete": 2}


@dataclass(frozen=True, slots=True)
class StoreResult:
    """The result of an upload."""

    digest: str
    fresh: bool
    """False if the same content was stored before."""


def content_digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]


def put_run(
    connection: Connection[Any],
    digest: str,
    upload: RunUpload,
    raw: FreeJson,
    *,
    by: Caller,
    now: datetime,
    any_case: bool = False,
    of_history: bool = False,
) -> StoreResult:
    """Stores run.json, or a later state of it. Raises Refusal.

    - `raw`: the record as it came.
    - `any_case`: accepts cases that the catalogue lacks.
    - `of_history`: makes points of a run without a lease, such as a run of the demonstration.
    """
    expected = run_digest(upload.record.identity, upload.record.created, upload.host)
    if digest != expected:
        raise Refusal(
            409,
            "another run",
            f"the identity, time and host in the body belong to run {expected},"
            f" but the address names {digest}",
        )
    if not any_case:
        _refuse_unknown_cases(upload)
    _refuse_odd_plan(upload.record)
    content = orjson.dumps(raw, option=orjson.OPT_SORT_KEYS)
    stored = runs.run_row(connection, digest, lock=True)
    if stored is not None:
        refuse_foreign_run(by, stored, upload.host)
        return _update_run(connection, stored, upload, content, lease_of_upload(connection, by, upload), now)
    handmade = _new_run(connection, digest, upload, content, by, now)
    lease = lease_of_upload(connection, by, upload)  # locks the host's row before the job's, as offers do
    fresh = replace(
        handmade,
        lease_id=None if lease is None else lease.id,
        of_history=of_history or is_of_history(lease, handmade.platform),
    )
    run_id = runs.insert_run(connection, fresh, now)
    if run_id is None:
        return StoreResult(digest=digest, fresh=False)  # another request stored it at the same moment
    keep_arms(connection, run_id, upload.record, of_history=fresh.of_history)
    _attach(connection, lease, run_id)
    request_analysis_if_complete(connection, digest)
    return StoreResult(digest=digest, fresh=True)


def _new_run(
    connection: Connection[Any],
    digest: str,
    upload: RunUpload,
    content: bytes,
    by: Caller,
    now: datetime,
) -> NewRun:
    """Makes a run without a lease from run.json. Stores its host, platform and environment."""
    assert by.token_id is not None
    record = upload.record
    runs.keep_platform(connection, record.platform)
    host = hosts.keep_host(connection, upload.host, record.platform, {}, now)
    facts = environment_facts(record)
    epoch = epoch_of(record)
    return NewRun(
        digest=digest,
        identity=record.identity,
        platform=record.platform,
        mode=record.mode,
        status=record.status,
        host_id=host.id,
        environment_id=runs.keep_environment(connection, digest_of([facts, epoch]), epoch, facts),
        created=time_of(record.created, "record.created"),
        record=pack_content(content),
        record_digest=content_digest(content),
        uploaded_by=by.token_id,
        lease_id=None,
        of_history=False,
    )


def _refuse_unknown_cases(upload: RunUpload) -> None:
    catalogue = load_catalogue()
    own = own_suites(upload.record)
    for index, case in enumerate(upload.record.plan.cases):
        suite = catalogue.suite_of(case.benchmark)
        if case.suite != suite and case.suite not in own and not (suite is None and case.suite == DISCOVERED):
            raise Refusal(
                422,
                "unknown case",
                f"the catalogue of this service lacks benchmark {case.benchmark!r} in suite {case.suite!r}:"
                f" update the service, or measure it as suite {DISCOVERED!r}",
                errors=[(f"record.plan.cases.{index}", "not in the catalogue")],
            )


def own_suites(record: RunRecord) -> frozenset[str]:
    """Returns the suites that came with a run, which itself declares their metrics.

    None is in the catalogue.
    """
    known = {suite.name for suite in load_catalogue().suites} | {ALL, DISCOVERED}
    return frozenset(each.suite for each in record.declared) - known


def _with_programs(record: RunRecord) -> frozenset[str]:
    """Returns the suites whose cases run a program of their own, which may print any unit."""
    return own_suites(record) | {suite.name for suite in load_catalogue().suites if suite.program is not None}


def _refuse_odd_plan(record: RunRecord) -> None:
    """Raises Refusal unless each planned boot has a number of its own and an arm of the run."""
    numbers = [boot.index for boot in record.plan.boots]
    arms = record.arm_by_name
    strange = next((boot.arm for boot in record.plan.boots if boot.arm not in arms), None)
    if len(set(numbers)) != len(numbers) or strange is not None:
        wrong = "a number twice" if strange is None else f"arm {strange!r}, which the run lacks"
        raise Refusal(
            422,
            "odd plan",
            f"record.plan.boots has {wrong}: send the plan as it was carried out",
            errors=[("record.plan.boots", wrong)],
        )


def _update_run(
    connection: Connection[Any],
    stored: RunRow,
    upload: RunUpload,
    content: bytes,
    lease: LeaseRow | None,
    now: datetime,
) -> StoreResult:
    """Stores a later state of a run. What it measures never changes, nor does a complete run.

    Raises Refusal.
    """
    digest, status, shorter = content_digest(content), upload.record.status, False
    if digest != stored.record_digest:
        before = stored_record(stored)
        refuse_another_record(stored.digest, before, upload.record)
        shorter = len(upload.record.plan.boots) < len(before.plan.boots)
    if lease is not None and stored.lease_id is None:
        runs.set_lease(connection, stored.id, lease.id, of_history=is_of_history(lease, stored.platform))
    if lease is not None:
        _attach(connection, lease, stored.id)
    if digest == stored.record_digest or _ORDER[status] < _ORDER[stored.status] or shorter:
        # The same state, or a late copy of an earlier one: nothing is new.
        return StoreResult(digest=stored.digest, fresh=False)
    if stored.status == "complete":
        raise Refusal(
            409,
            "complete",
            f"run {stored.digest} is complete, and its stored record differs from this one:"
            " upload new measurements as a new run",
            stored=stored.record_digest,
            received=digest,
        )
    runs.update_run(connection, stored.id, status, pack_content(content), digest, now)
    keep_arms(connection, stored.id, upload.record, of_history=stored.of_history)
    request_analysis_if_complete(connection, stored.digest)
    return StoreResult(digest=stored.digest, fresh=True)


def _attach(connection: Connection[Any], lease: LeaseRow | None, run_id: int) -> None:
    """Records the run in its job, unless the job has a newer lease."""
    if lease is not None and leases.newest_lease(connection, lease.job_id) == lease.id:
        queue.attach_run(connection, lease.job_id, run_id)


def own_run(connection: Connection[Any], digest: str, by: Caller) -> RunRow:
    """Returns a run that the caller may add to. Raises Refusal."""
    run = runs.run_row(connection, digest)
    if run is None:
        raise Refusal(404, "no such run", f"there is no run {digest}: upload its run.json first")
    refuse_foreign_run(by, run, runs.host_of_run(connection, digest))
    return run


def put_boot(
    connection: Connection[Any],
    known: ColumnsCache,
    digest: str,
    number: int,
    upload: BootUpload,
    raw: FreeJson,
    *,
    by: Caller,
    now: datetime,
    any_unit: bool = False,
) -> StoreResult:
    """Stores a boot with its samples, and requests the analysis after the last boot. Raises Refusal.

    - `raw`: the boot as it came.
    - `any_unit`: accepts units of any program.
    """
    run = own_run(connection, digest, by)
    about = upload.boot
    if about.index != number:
        raise Refusal(
            422, "another boot", f"the body holds boot {about.index}, but the address names {number}"
        )
    arm = next((arm for arm in run_arms.arms_of(connection, run.id) if arm.name == about.arm), None)
    if arm is None:
        raise Refusal(
            422,
            "no such arm",
            f"run {digest} has no arm {about.arm!r}",
            errors=[("boot.arm", "not in the run")],
        )
    if not any_unit:
        refuse_unknown_units(upload.samples, lambda: _with_programs(stored_record(run)))
    own = content_digest(orjson.dumps(raw, option=orjson.OPT_SORT_KEYS))
    stored = boots.boot_digest(connection, run.id, number)
    if stored is None:
        plan = plan_of(known, run)
        refuse_unplanned(plan, run, number)
        refuse_other_boot(plan, run, upload)
        columns, ordered = columns_for(connection, known, run, upload.samples)
        row = boots.NewBoot(
            run_id=run.id,
            number=number,
            arm_id=arm.id,
            block=about.block,
            stage=about.stage,
            layout=about.layout,
            status=about.status,
            began=time_of(about.began, "boot.began"),
            ended=time_of(about.ended, "boot.ended"),
            digest=own,
            columns_id=columns,
            samples=[each.value for each in ordered],
            document=pack(raw, upload, ordered),
        )
        if boots.insert_boot(connection, row, now):
            request_analysis_if_complete(connection, digest)
            return StoreResult(digest=own, fresh=True)
        stored = boots.boot_digest(connection, run.id, number)
    if stored != own:
        raise Refusal(
            409,
            "another boot is stored",
            f"boot {number} of run {digest} is stored with content {stored}, but this upload has {own}."
            " Nothing was changed",
            stored=stored,
            received=own,
        )
    return StoreResult(digest=own, fresh=False)


def request_analysis_if_complete(connection: Connection[Any], digest: str) -> None:
    """Requests the analysis once the run is complete and every boot of its plan is stored.

    Locks the run: if two uploads bring the last pieces at once, the second sees what the first stored.
    """
    run = runs.run_row(connection, digest, lock=True)
    assert run is not None
    if is_fully_uploaded(connection, run):
        background.ask_analysis(connection, digest)


def is_fully_uploaded(connection: Connection[Any], run: RunRow) -> bool:
    """Whether a run is complete and all its boots are stored.

    Boots of an arm without a kernel never come. The arm's failure says why.
    """
    if run.status != "complete":
        return False
    record = stored_record(run)
    gone = {arm.name for arm in record.arms if arm.facts.kernel is None and arm.failure is not None}
    planned = {boot.index for boot in record.plan.boots if boot.arm not in gone}
    return planned <= boots.boot_numbers(connection, run.id)
