"""Watches a branch without a service: measures its new commits and bisects what changed."""

import threading
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from cliffwatch.comparing.compare_run import sides_of_run
from cliffwatch.failure import Failure, kernel_failed, wrong_usage
from cliffwatch.formats.comparison import ComparisonRow
from cliffwatch.formats.reading import read_as
from cliffwatch.formats.result_directory import Run, read_run
from cliffwatch.formats.values import Commit, Part
from cliffwatch.parsers.readings import Problem
from cliffwatch.stats.history.culprits.question import ChangeDirection
from cliffwatch_runner.plan.arms import ArmRequest
from cliffwatch_runner.plan.request import RunRequest
from cliffwatch_runner.results.files import write_document
from cliffwatch_runner.run.bisection.asked import BisectionRequest, run_bisection
from cliffwatch_runner.run.bisection.commits import read_history
from cliffwatch_runner.run.bisection.document import BisectionDocument
from cliffwatch_runner.run.bisection.pairs import Halted
from cliffwatch_runner.run.bisection.step import compare_primary_rows, way_of
from cliffwatch_runner.run.progress import Progress
from cliffwatch_runner.run.run import run as carry_out
from cliffwatch_runner.source.named_repository import read_repository

FORMAT: Final = "cliffwatch-watched-branch"
FORMAT_VERSION: Final = 1

_WAYS: tuple[ChangeDirection, ...] = ("regression", "improvement")


class WatchedBranch(Part, frozen=True, kw_only=True):
    """The state file: the last measured commit of a branch. Version 1."""

    format: str
    version: int
    branch: str
    commit: Commit


@dataclass(frozen=True, slots=True, kw_only=True)
class Watching:
    """A branch to watch, and the places of its results and state."""

    repository: Path
    branch: str
    state: Path
    """The state file."""
    out: Path
    """Folder of the results."""
    request: RunRequest
    """How to measure. Its arms, output folder and cases are replaced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedRange:
    """The commits that one look at the branch compared, with the outcome."""

    base: str
    """A commit."""
    head: str
    """A commit. Equals `base` if the branch has nothing new."""
    notes: tuple[str, ...] = ()
    """Sentences for the reader."""
    rows: tuple[ComparisonRow, ...] = ()
    """The primary rows with a regression or an improvement."""
    bisections: tuple[BisectionDocument, ...] = ()
    """The culprits: one document for the regressions, one for the improvements."""
    failure: Failure | None = None
    """Why head could not be measured. The next look then starts from the same base."""


def watch_branch(asked: Watching, progress: Progress, stop: threading.Event) -> WatchedRange | Halted:
    """Measures the new commits of the branch and bisects the changes.

    After an interruption, the same call resumes.

    The state moves to head only after the last bisection. Raises OSError if results cannot be written, and
    the errors of `run`.
    """
    ends = _find_ends(asked)
    if isinstance(ends, Failure):
        return Halted((ends,))
    if ends.base == ends.head:
        return ends
    run = _measure(asked, ends, progress, stop)
    if isinstance(run, Halted):
        return run
    rows = compare_primary_rows(sides_of_run(run))
    if isinstance(rows, Failure):
        return Halted((rows,))
    found = replace(
        ends, rows=tuple(row for row in rows if way_of(row) in _WAYS), failure=_find_head_failure(run)
    )
    return found if found.failure is not None else _bisect_changes(asked, found, progress, stop)


def _measure(asked: Watching, ends: WatchedRange, progress: Progress, stop: threading.Event) -> Run | Halted:
    arms = (ArmRequest(name="base", rev=ends.base), ArmRequest(name="head", rev=ends.head))
    request = replace(asked.request, arms=arms, out=asked.out / "run")
    ended = carry_out(request, progress, stop)
    if isinstance(ended, tuple) or ended.interrupted:
        return Halted(ended if isinstance(ended, tuple) else ())
    run = read_run(ended.folder)
    return Halted((run,)) if isinstance(run, Failure) else run


def _find_head_failure(run: Run) -> Failure | None:
    failure = run.arms["head"].failure
    if failure is None:
        return None
    return kernel_failed(
        f"the newest commit cannot be measured: {failure}", "the next look compares with the same base again"
    )


def _bisect_changes(
    asked: Watching, measured: WatchedRange, progress: Progress, stop: threading.Event
) -> WatchedRange | Halted:
    documents = []
    for way in _WAYS:
        cases = tuple(dict.fromkeys(str(row.case) for row in measured.rows if way_of(row) == way))
        if not cases:
            continue
        history = read_history(asked.repository, measured.base, measured.head)
        if isinstance(history, Failure):
            return Halted((history,))
        request = replace(asked.request, cases=cases)
        folder = asked.out / f"bisect-{way}"
        log = folder / "bisect.log"
        question = BisectionRequest(asked.repository, history, request, (request.mode,), way, folder, log)
        ended = run_bisection(question, progress, stop)
        if isinstance(ended, Halted):
            return ended
        documents.append(ended)
    _move_state(asked, measured.head)
    return replace(measured, bisections=tuple(documents))


def _move_state(asked: Watching, commit: str) -> None:
    write_document(
        asked.state, WatchedBranch(format=FORMAT, version=FORMAT_VERSION, branch=asked.branch, commit=commit)
    )


def _find_ends(asked: Watching) -> WatchedRange | Failure:
    """Returns the commits to compare: the previous and the newest one.

    The first look compares with head's first parent. If the branch was rewritten, base is the merge base.
    """
    head = _commit(asked.repository, asked.branch)
    if head is None:
        return wrong_usage(
            f"{asked.repository} has no branch '{asked.branch}'", "fetch it there, or check the spelling"
        )
    last = _read_state(asked)
    if isinstance(last, Failure):
        return last
    base, note = _choose_base(asked.repository, last, head)
    if base is None:
        return wrong_usage(f"{asked.branch} has one commit", "watch it when there is something to compare")
    return WatchedRange(base=base, head=head, notes=(note,) if note else ())


def _choose_base(repository: Path, last: str | None, head: str) -> tuple[str | None, str]:
    """Returns the base of head, and a note for the reader or an empty text.

    The base is None if head has no parent.
    """
    if last == head:
        return head, "Nothing is new since the last look."
    parent = _commit(repository, f"{head}^1")
    if last is None:
        return parent, "This is the first look: the newest commit is compared with its first parent."
    met = _git(repository, "merge-base", last, head)
    if met == last:
        return last, ""
    rewritten = f"The branch was rewritten since the last look at {last[:12]}: compared with"
    return (
        (met, f"{rewritten} where both meet.")
        if met not in (None, head)
        else (parent, f"{rewritten} the first parent.")
    )


def _read_state(asked: Watching) -> str | Failure | None:
    """Returns the commit of the state file; None if the file does not exist."""
    if not asked.state.exists():
        return None
    document = read_as(asked.state.read_bytes(), WatchedBranch)
    ours = isinstance(document, WatchedBranch) and (document.format, document.version) == (
        FORMAT,
        FORMAT_VERSION,
    )
    if isinstance(document, Problem) or not ours or document.branch != asked.branch:
        return wrong_usage(
            f"{asked.state} is no state of {asked.branch}",
            "name another file with --state, or remove it to begin anew",
        )
    return document.commit


def _commit(repository: Path, name: str) -> str | None:
    return _git(repository, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")


def _git(repository: Path, *words: str) -> str | None:
    asked = read_repository(repository, words)
    return asked.output.strip() if asked.ok else None
