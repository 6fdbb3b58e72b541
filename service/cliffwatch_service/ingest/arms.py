"""Stores the arms of an uploaded run, with their revisions and kernels."""

from datetime import datetime
from typing import Any

from psycopg import Connection

from cliffwatch.formats.reading import as_json
from cliffwatch.formats.run_record import ArmRecord, RunRecord
from cliffwatch_service.ingest.free_form import plausible_date
from cliffwatch_service.store import run_arms, trees


def keep_arms(connection: Connection[Any], run_id: int, record: RunRecord, *, of_history: bool) -> None:
    for arm in record.arms:
        facts = arm.facts
        revision = None
        if facts.commit is not None:
            revision = _keep_revision(connection, arm, facts.commit, of_history=of_history)
            if facts.kernel is not None:
                run_arms.keep_kernel(connection, facts.kernel, revision, facts.config, record.toolchain or {})
        run_arms.keep_arm(
            connection,
            run_id,
            arm.name,
            revision_id=revision,
            kernel=facts.kernel if revision is not None else None,
            label=arm.label,
            own_settings=arm.settings is not None,
            failure=None if arm.failure is None else as_json(arm.failure),
        )


def _keep_revision(connection: Connection[Any], arm: ArmRecord, commit: str, *, of_history: bool) -> int:
    """Returns the id of the revision that an arm names, and stores what the arm says of it.

    The service's own git already knows all about a revision on a branch, so only runs of history add to it.
    """
    facts = arm.facts
    known = None if of_history else trees.revision_on_a_branch(connection, commit)
    if known is not None:
        return known
    return trees.keep_revision(
        connection,
        trees.RevisionFacts(
            commit=commit,
            tree_hash=facts.tree,
            parents=facts.parents,
            author=facts.author,
            authored=_date(facts.author_date),
            committed=_date(facts.commit_date),
            subject=facts.subject or _subject(arm.label),
            patch_id=facts.patch_id,
            release=facts.release,
        ),
    )


def _date(text: str | None) -> datetime | None:
    """Reads a commit's date; None if it cannot be stored."""
    try:
        moment = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return plausible_date(moment) if moment.tzinfo is not None else None


def _subject(label: str) -> str | None:
    """Takes the subject from a label such as `0123456789ab (subject)`."""
    _, _, rest = label.partition(" (")
    return rest.removesuffix(")") or None
