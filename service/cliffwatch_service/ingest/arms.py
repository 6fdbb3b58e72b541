"""The arms of an uploaded run: which revision and kernel each is of."""

from collections.abc import Mapping
from typing import Any

from psycopg import Connection

from cliffwatch_service.ingest.free_form import storable
from cliffwatch_service.ingest.uploads import ArmRecord, RunUpload
from cliffwatch_service.store import run_arms, trees


def keep_arms(
    connection: Connection[Any], run_id: int, upload: RunUpload, raw: Mapping[str, Any], *, of_history: bool
) -> None:
    record = upload["record"]
    for name, arm in record["arms"].items():
        facts = arm["facts"]
        revision = None
        if "commit" in facts:
            revision = _keep_revision(connection, arm, of_history=of_history)
            if "kernel" in facts:
                toolchain = raw.get("toolchain") or {}
                run_arms.keep_kernel(connection, facts["kernel"], revision, facts.get("config"), toolchain)
        run_arms.keep_arm(
            connection,
            run_id,
            name,
            revision_id=revision,
            kernel=facts.get("kernel") if revision is not None else None,
            label=arm["label"],
            failure=arm.get("failure"),
        )


def _keep_revision(connection: Connection[Any], arm: ArmRecord, *, of_history: bool) -> int:
    """The revision that an arm names. Of one on a branch the service's own git knows all, and only runs of history add to it."""
    facts = arm["facts"]
    known = None if of_history else trees.revision_on_a_branch(connection, facts["commit"])
    if known is not None:
        return known
    return trees.keep_revision(
        connection,
        trees.RevisionFacts(
            commit=facts["commit"],
            tree_hash=facts.get("tree"),
            parents=facts.get("parents", ()),
            author=facts.get("author"),
            authored=storable(facts.get("author_date")),
            committed=storable(facts.get("commit_date")),
            subject=facts.get("subject") or _subject(arm["label"]),
            patch_id=facts.get("patch_id"),
            release=facts.get("release"),
        ),
    )


def _subject(label: str) -> str | None:
    """Labels are `0123456789ab (subject)`."""
    _, _, rest = label.partition(" (")
    return rest.removesuffix(")") or None
