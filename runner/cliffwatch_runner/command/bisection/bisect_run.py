"""`cliffwatch bisect-run`: judges one commit for `git bisect run`."""

import threading
from pathlib import Path
from typing import Any, NoReturn

import rich_click as click
from rich.console import Console
from rich.markup import escape

from cliffwatch.command import terminal
from cliffwatch.command.ending import honest_exit
from cliffwatch.failure import Failure
from cliffwatch.formats.result_directory import read_run
from cliffwatch.reports import figures
from cliffwatch.reports.styles import plain
from cliffwatch.samples import MOST_ASKED_BOOTS
from cliffwatch.stats.history.culprits.question import ChangeDirection
from cliffwatch_runner.build.cache.entries import Stopped
from cliffwatch_runner.command.bisection.options import (
    bisection_options,
    bisection_request,
    resolve_auto_suites,
)
from cliffwatch_runner.command.failures import host_failure
from cliffwatch_runner.command.options.measuring import accel_option, mode_option
from cliffwatch_runner.command.stopping import stopping
from cliffwatch_runner.plan.request import RunRequest
from cliffwatch_runner.run.bisection.step import JudgedCommit, Step, judge_failures, judge_run
from cliffwatch_runner.run.progress import Progress, progress_display
from cliffwatch_runner.run.run import run as carry_out
from cliffwatch_runner.source.named_repository import read_repository


class _BisectStepCommand(click.RichCommand):
    """Ends with 128 where it cannot judge: git would take 2 and other codes below 128 as `bad`."""

    def make_context(self, *arguments: Any, **settings: Any) -> click.Context:
        try:
            return super().make_context(*arguments, **settings)
        except click.ClickException as error:
            error.show()
            raise SystemExit(int(Step.STOP)) from None

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except click.ClickException as error:
            error.show()
            raise SystemExit(int(Step.STOP)) from None
        except SystemExit as error:
            raise SystemExit(error.code if error.code in tuple(Step) else int(Step.STOP)) from None


@click.command(name="bisect-run", cls=_BisectStepCommand)
@click.option(
    "--good",
    required=True,
    metavar="REV",
    help="Commit without the change: each commit is compared with it.",
)
@mode_option()
@accel_option
@click.option(
    "--boots",
    type=click.IntRange(1, MOST_ASKED_BOOTS),
    help="Boots per kernel; default: that of `cliffwatch run`.",
)
@bisection_options
def bisect_run(tree: str, good: str, sought: ChangeDirection, **options: Any) -> NoReturn:
    """Judge the checked-out commit against a good one, for `git bisect run`.

    Exits with 0 if no case is worse, with 1 if a case is worse, and with 125 if the commit does not build or
    the result is inconclusive: git skips it. Exits with 128 if this host cannot judge: git stops, and the
    same command resumes. `git bisect start BAD GOOD; git bisect run cliffwatch bisect-run --good GOOD --case
    seq-get/nr_maps=16`.
    """
    console = terminal.console(stderr=True)
    with honest_exit(Step.STOP):  # git would take any other code below 128 as a judgement
        request = bisection_request(tree=tree, base=good, head=_commit_under_test(tree), **options)
        suited = resolve_auto_suites(request, Path(tree), good, _bad_commit(tree))
        if isinstance(suited, Failure):
            _print(judge_failures((suited,)), console)
            raise SystemExit(int(Step.STOP))
        request = suited[0]
        progress = progress_display(console)
        with stopping() as stop:
            try:
                judged = _judge_commit(request, sought, progress, stop)
            finally:
                progress.close()
        _print(judged, console)
    raise SystemExit(int(judged.step))


def _commit_under_test(tree: str) -> str:
    """Returns the commit under test: BISECT_HEAD if git bisects without a worktree, else HEAD."""
    asked = read_repository(Path(tree), ["rev-parse", "--verify", "--quiet", "BISECT_HEAD"])
    return "BISECT_HEAD" if asked.ok else "HEAD"


def _bad_commit(tree: str) -> str:
    """Returns git's current bad commit; outside a bisection, the commit under test."""
    asked = read_repository(Path(tree), ["rev-parse", "--verify", "--quiet", "refs/bisect/bad"])
    return "refs/bisect/bad" if asked.ok else _commit_under_test(tree)


def _judge_commit(
    request: RunRequest, sought: ChangeDirection, progress: Progress, stop: threading.Event
) -> JudgedCommit:
    try:
        ended = carry_out(request, progress, stop)
    except Stopped:
        return JudgedCommit(Step.STOP, "interrupted: run the same command to resume")
    except OSError as error:
        ended = (host_failure(error, request),)
    if isinstance(ended, tuple):
        return judge_failures(ended)
    if ended.interrupted:
        return JudgedCommit(
            Step.STOP,
            f"interrupted; the results so far are in {ended.folder}: run the same command to resume",
        )
    run = read_run(ended.folder)
    return judge_failures((run,)) if isinstance(run, Failure) else judge_run(run, sought)


def _print(judged: JudgedCommit, console: Console) -> None:
    for row in judged.rows:
        line = (
            f"{row.case}  {row.metric} {figures.value(row.base)} -> {figures.value(row.head)} {row.unit}  "
            f"{figures.change(row)}  {row.verdict}"
        )
        console.print(escape(plain(line)), highlight=False, soft_wrap=True)
    console.print(
        f"cliffwatch: {judged.step.name.lower()}: {escape(plain(judged.reason))}",
        highlight=False,
        soft_wrap=True,
    )
