"""Selects the arms that compare two revisions or two runs, and finds or makes their comparisons."""

import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg import Connection

from cliffwatch.formats.comparison import ComparisonSummary
from cliffwatch.reports.several.across import Target, name_targets
from cliffwatch.samples import Mode, select_compared_arms
from cliffwatch_service.compare.analysis import keep_compared, stored_comparison
from cliffwatch_service.compare.naming import find_revision, find_run, runs_beginning
from cliffwatch_service.compare.stored import read_summary
from cliffwatch_service.refusal import Refusal
from cliffwatch_service.store import background, comparisons, run_arms, trees
from cliffwatch_service.store.comparisons import StoredComparison
from cliffwatch_service.store.history import ancestry
from cliffwatch_service.store.history.ancestry import AncestorRow
from cliffwatch_service.store.run_arms import ArmRow
from cliffwatch_service.store.runs import RunRow
from cliffwatch_service.store.trees import RevisionRow

NEAREST = "nearest"
"""In place of a base: head's nearest measured first-parent ancestor, for each platform and mode."""

AT_ONCE = 20_000
"""Most samples that are compared while a reader waits. More are compared in the background."""

_one_at_a_time = threading.Lock()
"""A new comparison takes seconds of CPU. Several at once would stall all other requests."""


@dataclass(frozen=True, slots=True)
class TargetBase:
    """A platform and mode with the base to compare against."""

    platform: str
    mode: Mode
    base: AncestorRow | RevisionRow
    distance: int | None
    """Commits from base to head; None if the base was named."""


@dataclass(frozen=True, slots=True)
class Pair:
    """The two arms to compare on a target."""

    target: TargetBase
    base_arm: int
    head_arm: int
    runs: tuple[str, ...]
    """Digests of the arms' runs, base's first; one digest if both arms are of one run."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The comparison on a target, without its rows. The other fields are as in `Pair`."""

    target: TargetBase
    comparison: StoredComparison
    summary: ComparisonSummary
    runs: tuple[str, ...]
    base_arm: int
    head_arm: int


@dataclass(frozen=True, slots=True)
class RevisionPairs:
    """Head's revision, and a pair for each platform and mode that measured both sides."""

    head: RevisionRow
    pairs: Sequence[Pair]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """Head's revision, and its comparison on each platform and mode."""

    head: RevisionRow
    answers: Sequence[Answer]
    pending: int
    """Number of comparisons that are still being made in the background."""


def find_answers(
    connection: Connection[Any], base: str, head: str, platform: str | None, mode: str | None, now: datetime
) -> Answers:
    """Compares two revisions on each target. Raises Refusal if no platform and mode measured both."""
    paired = pair_revisions(connection, base, head, platform, mode)
    made = [answer_soon(connection, pair, now) for pair in paired.pairs]
    there = [each for each in made if each is not None]
    return Answers(head=paired.head, answers=there, pending=len(made) - len(there))


def targets_of(answers: Sequence[Answer]) -> tuple[Target, ...]:
    return name_targets([(each.target.platform, each.target.mode) for each in answers])


def split_sides(name: str) -> tuple[str, str] | None:
    """Splits `BASE...HEAD`, or `BASE..HEAD` as git users write it; None if the name is neither."""
    for dots in ("...", ".."):
        base, separator, head = name.partition(dots)
        if separator:
            return (base.strip(), head.strip()) if base.strip() and head.strip() else None
    return None


def find_pairs(connection: Connection[Any], name: str) -> RevisionPairs:
    """Resolves BASE...HEAD or one run with two arms. Raises Refusal.

    BASE and HEAD are two revisions or two runs. BASE may be `nearest`.
    """
    sides = split_sides(name)
    if sides is None:
        run = find_run_unless_commit(connection, name)
        if run is None:
            raise Refusal(
                422, "no pair", f"write BASE...HEAD or {NEAREST}...HEAD with commits, RUN...RUN, or one RUN"
            )
        return _own_arms(connection, run)
    base, head = (None if side == NEAREST else find_run_unless_commit(connection, side) for side in sides)
    if base is not None and head is not None:
        return _of_runs(connection, base, head)
    if base is not None or head is not None:
        raise Refusal(
            422, "no pair", "one side is a run and the other a revision: name two runs, or two revisions"
        )
    return pair_revisions(connection, *sides, None, None)


def find_run_unless_commit(connection: Connection[Any], name: str) -> RunRow | None:
    """Returns the run whose digest starts with `name`; None if no run or also a commit does.

    Raises Refusal if several runs match.
    """
    if not runs_beginning(connection, name) or trees.revisions_named(connection, name.lower()):
        return None
    return find_run(connection, name)


_PLAIN = re.compile(rf"({NEAREST}|[0-9a-f]{{7,64}})\.\.\.[0-9a-f]{{7,64}}|[0-9a-f]{{7,32}}").fullmatch


def normalise_pair_name(connection: Connection[Any], name: str) -> str:
    """Normalises the name of a pair for URLs: tags and branches move, so they become commits.

    Raises Refusal.
    """
    if _PLAIN(name):
        return name
    sides = split_sides(name)
    if sides is None:
        return name.lower()
    base, head = sides
    return f"{base if base == NEAREST else _digits(connection, base)}...{_digits(connection, head)}"


def _digits(connection: Connection[Any], side: str) -> str:
    run = find_run_unless_commit(connection, side)
    return (run.digest if run is not None else find_revision(connection, side).commit)[:12]


def pair_revisions(
    connection: Connection[Any], base: str, head: str, platform: str | None, mode: str | None
) -> RevisionPairs:
    """Pairs two revisions on each target. Raises Refusal if no platform and mode measured both."""
    head_row = find_revision(connection, head)
    base_row = None if base == NEAREST else find_revision(connection, base)
    targets = [
        target
        for target in run_arms.targets_of(connection, head_row.id)
        if platform in (None, target[0]) and mode in (None, target[1])
    ]
    if not targets:
        where = f" on {platform}" if platform else ""
        raise Refusal(
            404, "not measured", f"revision {head_row.commit[:12]} was not measured{where}: request it"
        )
    possible = [
        _pair(connection, _target(connection, base_row, head_row, *target), head_row) for target in targets
    ]
    pairs = [each for each in possible if each is not None]
    if not pairs:
        raise Refusal(404, "not measured", _explain_missing(connection, base_row, head_row, targets))
    return RevisionPairs(head_row, pairs)


def _explain_missing(
    connection: Connection[Any],
    base: RevisionRow | None,
    head: RevisionRow,
    targets: Sequence[tuple[str, Mode]],
) -> str:
    there = _name_targets(targets)
    if base is None:
        return (
            f"{head.commit[:12]} was measured on {there}, and none of its first-parent ancestors was: request"
            " both together"
        )
    elsewhere = run_arms.targets_of(connection, base.id)
    if not elsewhere:
        return (
            f"revision {base.commit[:12]} was not measured: request both together, or compare with"
            f" `{NEAREST}`"
        )
    return (
        f"{base.commit[:12]} was measured on {_name_targets(elsewhere)} and {head.commit[:12]} on {there}."
        " Platforms and modes are never compared with each other: request both together on one, or compare"
        f" with `{NEAREST}`"
    )


def _name_targets(targets: Sequence[tuple[str, Mode]]) -> str:
    return " and ".join(f"{platform} ({mode})" for platform, mode in targets)


def _target(
    connection: Connection[Any], base: RevisionRow | None, head: RevisionRow, platform: str, mode: Mode
) -> TargetBase | None:
    if base is not None:
        return TargetBase(platform, mode, base, None)
    ancestor = ancestry.measured_ancestor(connection, head.id, platform, mode)
    if ancestor is None:
        return None
    return TargetBase(platform, mode, ancestor, ancestor.distance)


def _pair(connection: Connection[Any], target: TargetBase | None, head: RevisionRow) -> Pair | None:
    if target is None:
        return None
    base_id, head_id = target.base.id, head.id
    shared = run_arms.shared_run(connection, base_id, head_id, target.platform, target.mode)
    if shared is not None:
        return Pair(target, shared.base, shared.head, (shared.run,))
    ours = run_arms.latest_arm(connection, base_id, target.platform, target.mode)
    theirs = run_arms.latest_arm(connection, head_id, target.platform, target.mode)
    if ours is None or theirs is None:
        return None
    return Pair(target, ours.id, theirs.id, (ours.run, theirs.run))


def _own_arms(connection: Connection[Any], run: RunRow) -> RevisionPairs:
    arms = {arm.name: arm for arm in run_arms.arms_of(connection, run.id)}
    if not {"base", "head"} <= set(arms):
        raise Refusal(
            422,
            "no base and head",
            f"run {run.digest[:12]} has no arms that are called base and head: name two runs, as RUN...RUN",
        )
    return _of_arms(connection, run, arms["base"], run, arms["head"])


def _of_runs(connection: Connection[Any], ours: RunRow, theirs: RunRow) -> RevisionPairs:
    """Pairs two runs by their heads. A run without a head contributes its first compared arm."""
    for what, one, other in (("platform", ours.platform, theirs.platform), ("mode", ours.mode, theirs.mode)):
        if one != other:
            raise Refusal(
                422,
                "not comparable",
                f"these runs are of different {what}s: {one} and {other}. Numbers of different {what}s say"
                f" nothing about a kernel: compare two runs of one {what}",
            )
    return _of_arms(connection, ours, _main_arm(connection, ours), theirs, _main_arm(connection, theirs))


def _main_arm(connection: Connection[Any], run: RunRow) -> ArmRow:
    arms = {arm.name: arm for arm in run_arms.arms_of(connection, run.id)}
    return arms.get("head", arms[select_compared_arms(arms)[0]])


def _of_arms(
    connection: Connection[Any],
    base_run: RunRow,
    base: ArmRow,
    head_run: RunRow,
    head: ArmRow,
) -> RevisionPairs:
    revisions = trees.revision_rows(
        connection, [each.revision_id for each in (base, head) if each.revision_id]
    )
    if base.revision_id not in revisions or head.revision_id not in revisions:
        raise Refusal(
            422, "no revision", "an arm of these runs is of no known revision: upload its run.json again"
        )
    target = TargetBase(head_run.platform, head_run.mode, revisions[base.revision_id], None)
    which = tuple(dict.fromkeys((base_run.digest, head_run.digest)))
    return RevisionPairs(revisions[head.revision_id], [Pair(target, base.id, head.id, which)])


def find_answer(connection: Connection[Any], pair: Pair) -> Answer | None:
    """Returns the stored answer; None if the comparison has not been made yet."""
    stored = stored_comparison(connection, pair.base_arm, pair.head_arm)
    return None if stored is None else _answer(pair, stored)


def answer_soon(connection: Connection[Any], pair: Pair, now: datetime) -> Answer | None:
    """Returns the answer if it is stored or quick to make. Otherwise requests it in the background: None.

    A comparison that is made here uses the memory of the serving process. Raises Refusal if the arms cannot
    be compared.
    """
    answer = find_answer(connection, pair)
    if answer is None and run_arms.sample_count(connection, (pair.base_arm, pair.head_arm)) <= AT_ONCE:
        answer = make_answer(connection, pair, now)
    if answer is None:
        background.ask_comparison(connection, pair.base_arm, pair.head_arm)
    return answer


def make_answer(connection: Connection[Any], pair: Pair, now: datetime) -> Answer:
    """Returns the stored answer, or makes it. Raises Refusal if the arms cannot be compared."""
    identity = keep_compared(connection, pair.base_arm, pair.head_arm, now, turn=_one_at_a_time)
    row = comparisons.comparison_by_id(connection, identity)
    assert row is not None
    return _answer(pair, row)


def _answer(pair: Pair, row: StoredComparison) -> Answer:
    summary = read_summary(row.summary)
    return Answer(pair.target, row, summary, pair.runs, pair.base_arm, pair.head_arm)
