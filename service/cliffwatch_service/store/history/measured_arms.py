"""Where arms of history stand on branches, kept in memory for as long as nothing of it changes.

A history has thousands of points, each of an arm with its revision, its run and its place on a branch. These stay as they are, and looking
them up took three quarters of the database's time. Arms that come to be are looked up once; `arms_moved` counts what could make any of
these untrue (migration 0017).
"""

import threading
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec
from psycopg import Connection

from cliffwatch_service.postgres.rows import many, the_one, values

_MOST_KNOWN = 100_000
"""Arms, of all branches together: 40 MB of them."""


class ArmPlace(msgspec.Struct, frozen=True, gc=False):
    """An arm's place on a branch and what its points say of it; no `ordinal` where its run is not of history or its revision not on the
    branch. `at` is when the revision was written, or measured first where that is not known.
    """

    arm_id: int
    ordinal: int | None
    commit: str
    release: str | None
    run: str
    at: datetime
    dated: bool

    @classmethod
    def of_row(cls, row: Iterable[Any]) -> "ArmPlace":
        return cls(*row)


_PLACES = """
SELECT arm.id AS arm_id, CASE WHEN run.of_history THEN member.ordinal END AS ordinal, revision.commit, revision.release, run.digest AS run,
       coalesce(revision.committed, revision.authored,
           (SELECT min(created) FROM arm AS other JOIN run ON run.id = other.run_id WHERE other.revision_id = revision.id)) AS at,
       coalesce(revision.committed, revision.authored) IS NOT NULL AS dated
FROM arm
JOIN run ON run.id = arm.run_id
JOIN revision ON revision.id = arm.revision_id
LEFT JOIN branch_revision AS member ON member.revision_id = arm.revision_id AND member.branch_id = %(branch)s
WHERE arm.id = ANY(%(arms)s)
"""


def places_of(connection: Connection[Any], branch_id: int, arms: Sequence[int]) -> list[ArmPlace]:
    wanted = {"branch": branch_id, "arms": list(arms)}
    return many(connection, ArmPlace.of_row).execute(_PLACES, wanted, binary=True).fetchall()


class MeasuredArms:
    """Safe for several threads, each with a connection of its own to one database."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._moved = -1
        self._known: dict[int, dict[int, ArmPlace]] = {}

    def places(
        self, connection: Connection[Any], branch_id: int, arms: Sequence[int]
    ) -> Mapping[int, ArmPlace]:
        """Of these arms at least, by their ids; arms that are gone have none."""
        moved = the_one(values(connection, int).execute("SELECT times FROM arms_moved"))
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
            # Who began before others learnt of a change knows nothing: his connection may show what was before.
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
