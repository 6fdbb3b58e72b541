"""A cache of the places of arms on branches.

A history has thousands of points, each with an arm, a revision, a run and a place on a branch. These rarely
change, and looking them up took three quarters of the database's time. New arms are looked up once.
`arms_moved` counts every change that could make an entry wrong (migration 0017).
"""

import threading
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec
from psycopg import Connection

from cliffwatch_service.postgres.rows import fetch_single_row, tuple_cursor, values

_MOST_KNOWN = 100_000
"""Most arms of all branches together; they take 40 MB."""


class ArmPlace(msgspec.Struct, frozen=True, gc=False):
    """The place of an arm on a branch, and what its points have in common."""

    arm_id: int
    ordinal: int | None
    """None if its run is not of history, or its revision not on the branch."""
    commit: str
    release: str | None
    run: str
    """Digest."""
    at: datetime
    """When the revision was written; if that is unknown, when it was first measured."""
    dated: bool
    """Whether it is known when the revision was written."""

    @classmethod
    def of_row(cls, row: Iterable[Any]) -> "ArmPlace":
        return cls(*row)


_PLACES = """
SELECT arm.id AS arm_id, CASE WHEN run.of_history THEN member.ordinal END AS ordinal, revision.commit,
    revision.release, run.digest AS run, coalesce(revision.committed, revision.authored,
           (SELECT min(created) FROM arm AS other JOIN run ON run.id = other.run_id
               WHERE other.revision_id = revision.id)) AS at,
       coalesce(revision.committed, revision.authored) IS NOT NULL AS dated
FROM arm
JOIN run ON run.id = arm.run_id
JOIN revision ON revision.id = arm.revision_id
LEFT JOIN branch_revision AS member ON member.revision_id = arm.revision_id AND member.branch_id = %(branch)s
WHERE arm.id = ANY(%(arms)s)
"""


def places_of(connection: Connection[Any], branch_id: int, arms: Sequence[int]) -> list[ArmPlace]:
    wanted = {"branch": branch_id, "arms": list(arms)}
    return tuple_cursor(connection, ArmPlace.of_row).execute(_PLACES, wanted, binary=True).fetchall()


class MeasuredArms:
    """The cache. Threads may share it if each has its own connection, all to the same database."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._moved = -1
        self._known: dict[int, dict[int, ArmPlace]] = {}

    def places(
        self, connection: Connection[Any], branch_id: int, arms: Sequence[int]
    ) -> Mapping[int, ArmPlace]:
        """Returns the places of at least these arms, by arm id. Removed arms have none."""
        moved = fetch_single_row(values(connection, int).execute("SELECT times FROM arms_moved"))
        known = self._of_branch(branch_id, moved)
        missing = [arm for arm in arms if arm not in known]
        if not missing:
            return known
        found = places_of(connection, branch_id, missing)
        self._keep(branch_id, moved, [each for each in found if each.dated])
        return {**known, **{each.arm_id: each for each in found}}

    def _of_branch(self, branch_id: int, moved: int) -> Mapping[int, ArmPlace]:
        with self._lock:
            if moved > self._moved:
                self._moved, self._known = moved, {}
            # A transaction older than the newest known change gets nothing: it may still see the old rows.
            return self._known.get(branch_id, {}) if moved == self._moved else {}

    def _keep(self, branch_id: int, moved: int, found: Sequence[ArmPlace]) -> None:
        with self._lock:
            if moved != self._moved:
                return
            if sum(map(len, self._known.values())) + len(found) > _MOST_KNOWN:
                self._known = {}
            self._known[branch_id] = {
                **self._known.get(branch_id, {}),
                **{each.arm_id: each for each in found},
            }
