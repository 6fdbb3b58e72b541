"""Where a run comes from: its lease, and whether it measured what its job asked for.

Only a run with a lease makes points of history and public reports. The lease must belong to an enrolled host
and to a job of a followed branch.
"""

from typing import Any
from uuid import UUID

from psycopg import Connection

from cliffwatch.formats.reading import convert
from cliffwatch.formats.run_record import RunRecord
from cliffwatch.formats.setup import Setup, build_anchored_arms
from cliffwatch.formats.uploads import RunUpload
from cliffwatch.formats.work import Trust
from cliffwatch.samples import ANCHOR, AUXILIARY_ARMS, is_rehearsal, select_compared_arms
from cliffwatch_service.access.authorisation import refuse_foreign_lease
from cliffwatch_service.access.tokens import Caller
from cliffwatch_service.refusal import Refusal, not_found
from cliffwatch_service.store import follows, tokens
from cliffwatch_service.store.history import bisections
from cliffwatch_service.store.work import leases, queue
from cliffwatch_service.store.work.leases import LeaseRow
from cliffwatch_service.store.work.queue import JobRow

_BRINGS_NOTHING = {"only_affected", "layouts", "matched", "seconds"}
"""Parts of a setup that say how to measure revisions, and add nothing to them."""


def trust_of(connection: Connection[Any], job: JobRow) -> Trust:
    """Returns `followed` or `outside` for the code of a job.

    It is `followed` if the request adds at most the service's own anchor, and if one of these holds:

    - both revisions are on a branch of the job's tree that is followed now, as the service's own git knows
      it,
    - a bisection asks for them, in commits that the branch's merges brought in.
    """
    brought = set() if job.setup is None else job.setup.keys() - _BRINGS_NOTHING
    if brought and not (brought == {"arms"} and _has_anchor(connection, job)):
        return "outside"
    on_branch = follows.holds_revisions(connection, job.tree, job.base_commit, job.head_commit)
    return "followed" if on_branch or bisections.asks_for(connection, job.request_id) else "outside"


def _has_anchor(connection: Connection[Any], job: JobRow) -> bool:
    """Whether a job's arms are its base, its head and an anchor, and the service itself asked for the job.

    An administrator named the anchor.
    """
    assert job.setup is not None
    arms = convert(job.setup, Setup).arms
    plain = build_anchored_arms(job.base_commit, job.head_commit, arms[-1].rev)
    return arms == plain and tokens.is_asker(connection, job.asked_by, follows.ASKER)


def lease_of_upload(connection: Connection[Any], caller: Caller, upload: RunUpload) -> LeaseRow | None:
    """Returns the newest lease of the upload's job that its host took; None if no job is named.

    Locks the job. Raises Refusal if the host never took the job, or measured something else.
    """
    named = upload.job
    if named is None:
        return None
    try:
        identity = UUID(named)
    except ValueError:
        raise not_found("job", named) from None
    if queue.lock_job(connection, identity) is None:
        raise not_found("job", named)
    lease = leases.lease_of_job(connection, identity, upload.host)
    if lease is None:
        raise Refusal(
            403,
            "another host's job",
            f"host {upload.host!r} never took job {named}:"
            " upload without `job`, or offer to work and take one",
        )
    refuse_foreign_lease(caller, lease)
    job = queue.job_row(connection, identity)
    assert job is not None
    _refuse_other_work(upload, job)
    return lease


def _refuse_other_work(upload: RunUpload, job: JobRow) -> None:
    record = upload.record
    pairs = {
        **_arms(record, job),
        "platform": (record.platform, job.platform),
        "mode": (record.mode, job.mode),
        "seed of the plan": (record.plan.seed, job.seed),
    }
    other = [
        f"{what} is {measured}, not {asked}" for what, (measured, asked) in pairs.items() if measured != asked
    ]
    if other:
        raise Refusal(
            409,
            "another job's run",
            f"job {job.id} asked for something else: {'; '.join(other)}. Upload this run without `job`",
        )


def _arms(record: RunRecord, job: JobRow) -> dict[str, tuple[str | None, str | None]]:
    """Returns the measured and the requested commit of each arm.

    Patched arms are left out: their commits are known only once they are made.
    """
    commits = {arm.name: arm.facts.commit for arm in record.arms}
    setup = None if job.setup is None else convert(job.setup, Setup)
    if setup is None or not setup.arms:
        return {
            "base": (commits.get("base"), job.base_commit),
            "head": (commits.get("head"), job.head_commit),
        }
    plain = {arm.name: arm.rev for arm in setup.arms if not arm.patch and arm.series is None}
    names, asked = sorted({*commits} - AUXILIARY_ARMS), sorted(arm.name for arm in setup.arms)
    if ANCHOR not in commits and select_compared_arms(asked) == names:  # the tree no longer has the anchor
        asked = names
        plain = {name: commit for name, commit in plain.items() if name in names}
    return {
        "list of arms": (", ".join(names), ", ".join(asked)),
        **{f"arm {name}": (commits.get(name), commit) for name, commit in plain.items()},
    }


def is_of_history(lease: LeaseRow | None, platform: str) -> bool:
    """True if a run makes points of history. A rehearsal never does: it is no measurement of hardware."""
    return lease is not None and lease.enrolled and lease.trust == "followed" and not is_rehearsal(platform)
