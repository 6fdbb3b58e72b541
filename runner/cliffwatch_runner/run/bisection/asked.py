"""Carries out a bisection and leaves runs, state, log and bisection.json in its folder."""

import hashlib
import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from cliffwatch.counting import count_noun
from cliffwatch.failure import Failure
from cliffwatch.reports.styles import plain
from cliffwatch.samples import Mode
from cliffwatch.stats.history.culprits.boots import steps_of
from cliffwatch.stats.history.culprits.question import ChangeDirection, Pair
from cliffwatch_runner.plan.request import RunRequest
from cliffwatch_runner.plan.writable_folders import check_results
from cliffwatch_runner.results.files import write_document
from cliffwatch_runner.run.bisection.bisecting import Order, bisect
from cliffwatch_runner.run.bisection.commits import History, describe_commit
from cliffwatch_runner.run.bisection.document import BisectionDocument
from cliffwatch_runner.run.bisection.git_log import LogFile, row_line
from cliffwatch_runner.run.bisection.pairs import Halted, Rows, Skipped
from cliffwatch_runner.run.bisection.record import open_record
from cliffwatch_runner.run.bisection.results import document_of
from cliffwatch_runner.run.progress import Progress


@dataclass(frozen=True, slots=True)
class BisectionRequest:
    """A bisection as it was requested."""

    repository: Path
    """Read in place."""

    history: History
    request: RunRequest
    modes: tuple[Mode, ...]
    """Tried in this order."""

    sought: ChangeDirection
    folder: Path
    """Receives runs, state and bisection.json."""

    log: Path
    """Receives the log for `git bisect replay`."""


def question_of(
    repository: Path, history: History, request: RunRequest, modes: Sequence[Mode], sought: ChangeDirection
) -> str:
    """Returns a digest of everything that decides what is measured and how it is judged."""
    asked = [request.suites, request.cases, request.profile, *modes, request.boots, request.notable]
    content = [str(repository), history.good, history.bad, sought, request.accel, *asked]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:32]


def run_bisection(
    asked: BisectionRequest, progress: Progress, stop: threading.Event
) -> BisectionDocument | Halted:
    """Carries out the bisection, or continues the one in the folder.

    Raises OSError if the folder cannot be written.
    """
    unwritable = check_results(asked.folder) or check_results(asked.log.parent)
    if unwritable is not None:
        return Halted((unwritable,))
    question = question_of(asked.repository, asked.history, asked.request, asked.modes, asked.sought)
    record = open_record(asked.folder, question)
    if isinstance(record, Failure):
        return Halted((record,))
    between = len(asked.history.between)
    progress.note(
        f"{count_noun(between, 'commit')} between good and bad: about"
        f" {count_noun(steps_of(between) + 1, 'measurement')} along a line; results in {asked.folder}"
    )
    log = LogFile(asked.log, cache(partial(describe_commit, asked.repository)), asked.sought)
    order = Order(
        request=asked.request,
        modes=asked.modes,
        history=asked.history,
        sought=asked.sought,
        record=record,
        report_step=partial(_report_step, progress, log),
        report_marks=log.write,
    )
    ended = bisect(order, progress, stop)
    if isinstance(ended, Halted):
        return ended
    log.end(ended)
    document = document_of(order, ended, asked.repository, asked.log)
    write_document(asked.folder / "bisection.json", document)
    return document


def _report_step(progress: Progress, log: LogFile, pair: Pair, rows: Rows | Skipped) -> None:
    log.take(pair, rows)
    if isinstance(rows, Skipped):
        progress.note(plain(f"{pair.head[:12]} skipped: {rows.reason}"))
        return
    for row in rows:
        progress.note(plain(f"{pair.head[:12]} against {pair.base[:12]}: {row_line(row)}"))
