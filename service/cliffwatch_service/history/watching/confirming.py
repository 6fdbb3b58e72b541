"""Requests a fresh comparison around each candidate and records the outcome: confirmed, refuted, retried."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any
from uuid import UUID

from psycopg import Connection

from cliffwatch.comparing.comparison import CHANGES, TROUBLED
from cliffwatch.counting import count_noun
from cliffwatch.formats.comparison import ComparisonRow
from cliffwatch.formats.setup import NO_SETUP, Setup
from cliffwatch.identities import series_digest
from cliffwatch.samples import CaseKey, Mode
from cliffwatch.stats.history.fresh import FIRST_BOOTS, Fresh, FreshAnswer, judge_fresh, next_boots
from cliffwatch_service.compare.analysis import analyse_run
from cliffwatch_service.compare.stored import read_stored_rows, read_summary
from cliffwatch_service.history.changes import change_digest, keep_confirmed, take_changes
from cliffwatch_service.jobs.requests import RequestDraft, store_request
from cliffwatch_service.refusal import Refusal
from cliffwatch_service.store import comparisons, database, tokens
from cliffwatch_service.store.follows import ASKER
from cliffwatch_service.store.history import candidates, confirmations
from cliffwatch_service.store.history import changes as stored_changes
from cliffwatch_service.store.history.candidates import CandidateRow, FreshFigures
from cliffwatch_service.store.history.confirmations import ConfirmationRow

Rows = Mapping[str, ComparisonRow]
"""The rows of a comparison by the digest of their series."""

MOST_OPEN = 8
"""Most ranges compared afresh at a time. The others wait, oldest first."""

MOST_ATTEMPTS = 3
"""Most requests for a comparison that measures nothing: it is retried twice."""


@dataclass(frozen=True, slots=True)
class Unanswered:
    """A job without a usable comparison."""

    reason: str
    """Why there is none, for people."""


@dataclass(frozen=True, slots=True)
class Answered:
    """The comparison of a finished job."""

    comparison_id: int
    rows: Rows


def confirm_candidates(connection: Connection[Any], now: datetime) -> int:
    """Records the comparisons that finished, and requests the next ones. Returns the number of requests."""
    for row in confirmations.open_confirmations(connection):
        if row.state == "asked" and row.request_id is not None:
            answer = answer_of(connection, row.request_id, row.platform, row.mode, now)
            if answer is not None:
                _take(connection, row, answer, now)
    return _ask(connection, now)


def answer_of(
    connection: Connection[Any], request: UUID, platform: str, mode: Mode, now: datetime
) -> Answered | Unanswered | None:
    """Returns the outcome of a request's job on one platform in one mode; None while it waits or runs."""
    job = confirmations.job_of_ask(connection, request, platform, mode)
    if job is None or job.state in ("queued", "leased", "parked"):
        return None
    if job.state != "done" or job.run is None:
        return Unanswered(job.reason or f"the job ended as {job.state}")
    try:
        comparison = analyse_run(connection, job.run, now)
    except Refusal as refusal:
        return Unanswered(refusal.detail)
    if comparison is None:
        return Unanswered("the run has no base and head to compare")
    if not comparisons.is_of_history(connection, comparison):
        return Unanswered("a host that is not enrolled measured it, or the branch is not followed any more")
    return Answered(comparison, rows_by_series(connection, comparison, platform, mode))


def rows_by_series(connection: Connection[Any], comparison: int, platform: str, mode: Mode) -> Rows:
    """Returns the rows of a stored comparison by the digest of their series."""
    rows = read_stored_rows(connection, comparison)
    return {series_digest(row.case, row.metric, row.unit, platform, mode): row for row in rows if row.metric}


def unchanged_cases(connection: Connection[Any], comparison: int) -> frozenset[CaseKey]:
    """Returns the cases that the run of a comparison left out because both arms execute identical code.

    Their parameters are sorted by name.
    """
    stored = comparisons.comparison_by_id(connection, comparison)
    assert stored is not None
    left_out = read_summary(stored.summary).left_out
    return frozenset(
        CaseKey(each.suite, each.benchmark, tuple(sorted(each.params.items())))
        for each in left_out
        if each.status == "unchanged-build"
    )


def _take(
    connection: Connection[Any], row: ConfirmationRow, answer: Answered | Unanswered, now: datetime
) -> None:
    """Records the outcome for each candidate of a confirmation.

    If nothing was measured, the comparison is retried. If it left candidates open, a second comparison
    follows. Otherwise ends the confirmation.
    """
    database.lock_reports(connection)
    waiting = candidates.candidates_of(connection, row.id)
    if isinstance(answer, Unanswered):
        _retry_confirmation(connection, row, answer.reason, None, now)
        return
    read = {each.id: answer.rows[each.series] for each in waiting if _is_usable(answer.rows.get(each.series))}
    if waiting and not read:
        _retry_confirmation(connection, row, "no boot measured any of the series", answer.comparison_id, now)
        return
    reported = [each for each in waiting if each.id in read and read[each.id].verdict in CHANGES]
    for each in reported:
        _move(connection, each, row)
    take_changes(connection, answer.comparison_id, now)
    judged = {
        each: judge_candidate(each.size, read[each.id], _number(row))
        for each in waiting
        if each.id in read and each not in reported
    }
    for each, said in judged.items():
        _end(connection, row, each, read[each.id], said, answer.comparison_id, now)
    still_open = [each for each, said in judged.items() if said == "open"]
    if still_open:
        boots = max(boots_of_second(each.size, read[each.id]) for each in still_open)
        confirmations.set_waiting(connection, row.id, _explain_second_round(still_open, boots), boots)
        return
    left = len(waiting) - len(read)
    reason = f"{count_noun(left, 'series', 'series')} read nothing" if left else None
    confirmations.end_confirmation(
        connection, row.id, "answered", comparison_id=answer.comparison_id, reason=reason, now=now
    )


def _end(
    connection: Connection[Any],
    row: ConfirmationRow,
    candidate: CandidateRow,
    fresh: ComparisonRow,
    said: FreshAnswer,
    comparison: int,
    now: datetime,
) -> None:
    """Refutes or confirms a candidate whose row the comparison does not report; leaves it if `said` is open.

    The comparison shares its error among all its rows. The candidate is judged alone, so it may be confirmed
    although the comparison does not report it.
    """
    if said == "refuted":
        figures = FreshFigures(change=fresh.change, low=fresh.ci_low, high=fresh.ci_high, mde=fresh.mde)
        candidates.refute_candidate(connection, candidate.id, figures)
    elif said == "confirmed" and _move(connection, candidate, row):
        pair = row.base_revision_id, row.head_revision_id
        keep_confirmed(connection, candidate.series_id, pair, fresh, comparison, now)


def _number(row: ConfirmationRow) -> int:
    """Returns the number of a confirmation's comparison: 1, or 2 if the first left candidates open."""
    return 1 if row.boots is None else 2


def _explain_second_round(candidates_left: Sequence[CandidateRow], boots: int) -> str:
    return (
        f"{count_noun(len(candidates_left), 'candidate')} left open by the first comparison: again with"
        f" {count_noun(boots, 'boot')}"
    )


def _is_usable(row: ComparisonRow | None) -> bool:
    """Whether a comparison measured the row, so that its candidate can be judged."""
    return (
        row is not None and row.verdict not in TROUBLED and (row.change is not None or row.verdict in CHANGES)
    )


def _move(connection: Connection[Any], candidate: CandidateRow, row: ConfirmationRow) -> bool:
    """Moves a confirmed candidate to the revisions that were compared.

    If that change is already known, supersedes the candidate and returns False.
    """
    base, head = row.base_revision_id, row.head_revision_id
    digest = change_digest(candidate.series_id, base, head)
    moved = candidates.move_change(connection, candidate.id, digest, base, head)
    if not moved:
        stored_changes.supersede_changes(connection, [candidate.id])
    return moved


def _retry_confirmation(
    connection: Connection[Any], row: ConfirmationRow, reason: str, comparison: int | None, now: datetime
) -> None:
    """Sets a confirmation to be requested again, or ends it as unanswered after MOST_ATTEMPTS."""
    if row.attempts < MOST_ATTEMPTS:
        confirmations.set_waiting(connection, row.id, reason, row.boots)
        return
    confirmations.end_confirmation(
        connection, row.id, "unanswered", comparison_id=comparison, reason=reason, now=now
    )


def _ask(connection: Connection[Any], now: datetime) -> int:
    """Requests the next comparisons. Returns the number of requests.

    Makes one request for each range and number of boots, for all platforms that wait for it. Skips ranges
    with an open request. A demonstration has no hosts, so it requests nothing.
    """
    if database.is_demonstration(connection):
        return 0
    rows = confirmations.open_confirmations(connection)
    asked = {_range(row) for row in rows if row.state == "asked"}
    waiting = sorted(
        (row for row in rows if row.state == "waiting" and _range(row) not in asked), key=_request_key
    )
    by_range = [list(group) for _, group in groupby(waiting, key=_request_key)]
    due = sorted(by_range, key=lambda group: min((row.made, row.id) for row in group))[
        : max(0, MOST_OPEN - len(asked))
    ]
    asker = tokens.keep_asker(connection, ASKER, now)
    for group in due:
        first = group[0]
        request = RequestDraft(
            tree=first.tree,
            base=first.base,
            head=first.head,
            targets=[(row.platform, row.mode) for row in group],
            suites=sorted({suite for row in group for suite in row.suites}),
            profile=first.profile,
            boots=_boots(first),
            setup=_setup(first),
            priority="watch",
            note=(
                f"{first.branch}: fresh comparison of"
                f" {count_noun(sum(row.candidates for row in group), 'candidate')}"
            ),
        )
        key = f"confirm {' '.join(f'{row.id}.{row.attempts}' for row in group)}"
        made = store_request(connection, request, key=key, token_id=asker, who=ASKER, now=now)
        confirmations.set_asked(connection, [row.id for row in group], made.row.id)
    return len(due)


def _range(row: ConfirmationRow) -> tuple[int, int, int]:
    return row.branch_id, row.base_revision_id, row.head_revision_id


def _request_key(row: ConfirmationRow) -> tuple[tuple[int, int, int], str]:
    return _range(row), _boots(row)


def _boots(row: ConfirmationRow) -> str:
    """Returns the boots to request; `auto` in icount, where the profile determines them."""
    return "auto" if row.mode == "icount" else str(row.boots or FIRST_BOOTS)


def _setup(row: ConfirmationRow) -> Setup:
    """A layout for each boot: more boots of the same layouts would tell little more."""
    return NO_SETUP if row.mode == "icount" else Setup(layouts=int(_boots(row)))


def judge_candidate(size: float, row: ComparisonRow, number: int) -> FreshAnswer:
    """Judges a candidate whose row the `number`-th fresh comparison (from 1) does not report.

    `size` is the candidate's, a fraction. A row of counted values, or without a change and its p-value,
    refutes the candidate.
    """
    fresh = _fresh(row)
    return "refuted" if fresh is None else judge_fresh(size, fresh, number)


def boots_of_second(size: float, row: ComparisonRow) -> int:
    """Returns the boots per arm of a second comparison, for a candidate that this row left open."""
    fresh = _fresh(row)
    assert fresh is not None
    return next_boots(size, fresh)


def _fresh(row: ComparisonRow) -> Fresh | None:
    if row.mode == "icount" or row.change is None or row.p is None or not row.n_base or not row.n_head:
        return None
    return Fresh(
        change=row.change,
        low=-math.inf if row.ci_low is None else row.ci_low,
        high=math.inf if row.ci_high is None else row.ci_high,
        level=row.interval_level or 0.95,
        p=row.p,
        boots=min(row.n_base, row.n_head),
    )
