"""Builds the state of a pull request's measurements, from which its comments are made."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, cast
from uuid import UUID

from psycopg import Connection

from cliffwatch.comparing.attribution.changes import Functions
from cliffwatch.comparing.attribution.documents import functions_of_document
from cliffwatch.comparing.comparison import ComparisonSet
from cliffwatch.failure import Failure, host_failed, kernel_failed, wrong_usage
from cliffwatch.pull_request.state import (
    Booting,
    Building,
    Cancelled,
    EarlierVersion,
    Failed,
    Link,
    Measured,
    Progress,
    PullRequestState,
    Queued,
    Series,
    TargetState,
    Waiting,
    confirmed_rows,
)
from cliffwatch.reports.context import ReportContext, context_of_record
from cliffwatch.reports.json_reading import comparison_set_of
from cliffwatch.samples import Mode, is_rehearsal
from cliffwatch.shell_lines import repeat_command
from cliffwatch_service.compare.analysis import load_arms, stored_comparison
from cliffwatch_service.compare.stored import read_stored_rows, read_summary
from cliffwatch_service.ingest.kernel_code import image_of
from cliffwatch_service.ingest.stored_records import stored_record
from cliffwatch_service.jobs.estimates import Estimate, estimate_jobs
from cliffwatch_service.jobs.requests import setup_of
from cliffwatch_service.store import boots, run_arms, runs
from cliffwatch_service.store.github import pull_requests
from cliffwatch_service.store.github.pull_requests import MeasurementRow, PullRequestRow
from cliffwatch_service.store.run_arms import ArmRow
from cliffwatch_service.store.work import queue
from cliffwatch_service.store.work.queue import JobRow

_LONGEST_QUEUE = 1000
"""Jobs of the queue with an estimate; later ones have none."""

_Estimates = Mapping[UUID, Estimate]
"""By job id: its place in the queue and the seconds until it ends."""


def state_of(
    connection: Connection[Any], row: PullRequestRow, pages_url: str, now: datetime
) -> PullRequestState:
    """Returns the state of a pull request, with the sequence of its last comment."""
    measurements = pull_requests.measurements_of(connection, row.id)
    current = next(
        (each for each in measurements if each.pull_head == row.head and each.state != "superseded"), None
    )
    jobs = (
        [job for request in current.requests for job in queue.jobs_of_request(connection, request)]
        if current
        else []
    )
    estimates = estimate_jobs(connection, queue.queue_of(connection, _LONGEST_QUEUE), now) if jobs else {}
    targets = tuple(
        TargetState(platform=job.platform, mode=job.mode, progress=_progress(connection, job, estimates))
        for job in jobs
    )
    notes = (row.problem,) if row.problem and jobs else ()
    return PullRequestState(
        sequence=row.sequence,
        title=f"{row.repository}#{row.number}",
        base=current.base_commit if current else row.base,
        head=row.head,
        targets=targets or _without_jobs(row),
        repeat="\n".join(_repeat(job) for job in jobs),
        series=_series(row),
        earlier=_earlier(connection, row, measurements),
        links=_links(current, jobs, pages_url),
        notes=notes,
    )


def _without_jobs(row: PullRequestRow) -> tuple[TargetState, ...]:
    """Returns the targets of a pull request without jobs: failed, cancelled, waiting or queued."""
    progress: Progress
    if row.problem:
        progress = Failed(failure=wrong_usage(row.problem, "fix that, then say `/bench`"))
    elif row.state == "closed":
        progress = Cancelled()
    else:
        progress = Waiting() if row.waits else Queued()
    targets = cast("list[tuple[str, Mode]]", row.targets)  # a parsed policy contains only valid modes
    return tuple(TargetState(platform=platform, mode=mode, progress=progress) for platform, mode in targets)


def _progress(connection: Connection[Any], job: JobRow, estimates: _Estimates) -> Progress:
    estimate = estimates.get(job.id)
    seconds = estimate.seconds if estimate is not None else None
    match job.state:
        case "queued":
            return Queued(position=estimate.position if estimate is not None else None, seconds=seconds)
        case "leased":
            return _running(connection, job, seconds)
        case "cancelled":
            return Cancelled()
        case "parked":
            step = "the service's operator finds out why, and puts the job back; or say `/bench` to ask anew"
            return Failed(failure=host_failed("no host could do it", step))
        case "failed":
            return Failed(
                failure=_not_possible(job) if job.whose == "usage" else _kernel_failure(connection, job)
            )
    return _progress_of_done_job(connection, job)


def _running(connection: Connection[Any], job: JobRow, seconds: float | None) -> Progress:
    run = runs.run_by_id(connection, job.run_id) if job.run_id is not None else None
    done = len(boots.boot_numbers(connection, run.id)) if run is not None else 0
    if run is None or not done:
        return Building(seconds=seconds)
    plan = stored_record(run).plan
    planned = None if plan.stages is not None else len(plan.boots)
    return Booting(done=done, planned=planned, seconds=seconds)


def _progress_of_done_job(connection: Connection[Any], job: JobRow) -> Progress:
    """Returns the comparison of a finished job, or its boots if the comparison is not made yet."""
    assert job.run_id is not None
    run = runs.run_by_id(connection, job.run_id)
    assert run is not None
    arms = {arm.name: arm for arm in run_arms.arms_of(connection, run.id)}
    found = _load_comparison(connection, arms)
    if found is None:
        done = len(boots.boot_numbers(connection, run.id))
        return Booting(done=done, planned=done)
    compared, functions = found
    wanted = [(run, arms[name]) for name in ("base", "head")] if compared.changed_rows() else []
    loaded = [stored.arm for stored in load_arms(connection, wanted)]
    image = image_of(connection, arms["base"].id, arms["head"].id)
    context = replace(context_of_record(stored_record(run), None), functions=functions)
    return Measured(
        compared=compared,
        context=context if image is None else replace(context, images={image.arm: image}),
        confirmed=confirmed_rows(compared, *loaded) if loaded else frozenset(),
    )


def _load_comparison(
    connection: Connection[Any], arms: Mapping[str, ArmRow]
) -> tuple[ComparisonSet, Functions] | None:
    """Returns the stored comparison of base and head with its functions; None if there is none yet."""
    if "base" not in arms or "head" not in arms:
        return None
    stored = stored_comparison(connection, arms["base"].id, arms["head"].id)
    if stored is None:
        return None
    summary = read_summary(stored.summary)
    rows = read_stored_rows(connection, stored.id)
    return comparison_set_of(summary, rows), functions_of_document(summary.functions)


def _not_possible(job: JobRow) -> Failure:
    """The failure of a request that cannot be measured, with the host's reason."""
    return wrong_usage(
        "this cannot be measured as it was asked for",
        "push another head, or name what to measure: /bench suite=NAME",
        job.reason or "",
    )


def _kernel_failure(connection: Connection[Any], job: JobRow) -> Failure:
    """The failure of a kernel under test, with the failed arm's evidence if the run recorded it."""
    run = runs.run_by_id(connection, job.run_id) if job.run_id is not None else None
    context: ReportContext | None = context_of_record(stored_record(run), None) if run is not None else None
    step = "fix it and push: the new head is measured by itself"
    for failure in context.failures if context is not None else ():
        return kernel_failed(f"{failure.arm}: {failure.message}", step, failure.evidence)
    message = "the kernel under test could not be built, booted or measured"
    return kernel_failed(message, step, job.reason or "")


def _series(row: PullRequestRow) -> Series | None:
    return None if row.series is None else Series(identity=str(row.series), version=row.version or 1)


def _earlier(
    connection: Connection[Any], row: PullRequestRow, measurements: list[MeasurementRow]
) -> EarlierVersion | None:
    """Returns the newest earlier version of a series that has a comparison; None if there is none."""
    if row.version is None:
        return None
    before = [
        (each.version, each)
        for each in measurements
        if each.version is not None and each.version < row.version
    ]
    for version, measurement in sorted(before, key=lambda each: (each[0], each[1].id), reverse=True):
        compared = {}
        for request in measurement.requests:
            for job in queue.jobs_of_request(connection, request):
                progress = _progress_of_done_job(connection, job) if job.state == "done" else None
                if isinstance(progress, Measured):
                    compared[job.platform, job.mode] = progress.compared
        if compared:
            return EarlierVersion(version=version, head=measurement.pull_head, compared=compared)
    return None


def _repeat(job: JobRow) -> str:
    command = repeat_command(
        tree=job.tree,
        base=job.base_commit,
        head=job.head_commit,
        suite=",".join(job.suites),
        profile=job.profile,
        mode=job.mode,
        accel="tcg" if is_rehearsal(job.platform) else "",
        platform=job.platform,
        boots=job.boots,
        trust="outside",
    )
    return " ".join((command, *setup_of(job.setup).walltime_options(job.mode)))


def _links(current: MeasurementRow | None, jobs: list[JobRow], pages_url: str) -> tuple[Link, ...]:
    if current is None:
        return ()
    pair = f"{current.base_commit}...{current.head_commit}"
    done = (
        [Link(name="comparison", url=f"{pages_url}/compare/{pair}")]
        if any(job.state == "done" for job in jobs)
        else []
    )
    return (
        *done,
        *(Link(name="queue and hosts", url=f"{pages_url}/requests/{each}") for each in current.requests),
    )
