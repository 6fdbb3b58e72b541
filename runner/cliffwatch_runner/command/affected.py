"""`cliffwatch affected`: lists the cases that a kernel change can affect, and those that it cannot."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import rich_click as click

from cliffwatch.command import terminal
from cliffwatch.command.terminal import Form, form_option
from cliffwatch.counting import count_noun
from cliffwatch.failure import Exit, Failure, wrong_usage
from cliffwatch.formats.code.affected import AffectedCase, AffectedDocument
from cliffwatch.formats.reading import document_text
from cliffwatch.reports.styles import plain
from cliffwatch_runner.build.cache.entries import Stopped
from cliffwatch_runner.build.cache.uses import cache_uses
from cliffwatch_runner.build.worktree_pool import build_folder
from cliffwatch_runner.command.failures import host_failure, print_failures
from cliffwatch_runner.command.options.arms import arm_options, take_arms
from cliffwatch_runner.command.options.cache import cache_option
from cliffwatch_runner.command.options.measuring import isolation_option, make_request, profile_option
from cliffwatch_runner.command.options.suites import case_option, suite_options, take_suites
from cliffwatch_runner.command.stopping import stopping
from cliffwatch_runner.plan.request import RunRequest
from cliffwatch_runner.plan.writable_folders import check_programs_run, open_cache
from cliffwatch_runner.run.prepare import prepare_run
from cliffwatch_runner.run.progress import Progress, progress_display
from cliffwatch_runner.run.unchanged_builds.affected import affected_cases, differences
from cliffwatch_runner.run.unchanged_builds.case_code import code_of_arms
from cliffwatch_runner.run.unchanged_builds.executed import newest_counts, read_executed

_MOST_FUNCTIONS = 4


@click.command()
@click.option("--tree", default=".", show_default=True, help="Kernel tree, as for `cliffwatch run`.")
@arm_options
@suite_options
@case_option
@profile_option("Cases of the suites.")
@click.option(
    "--counts",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Result directory with function counts of the cases; default: the newest under cliffwatch-results.",
)
@form_option("Format of the output.")
@isolation_option()
@cache_option("Folder of kernels and build output; default: ~/.cache/cliffwatch.")
def affected(*, counts: Path | None, form: Form, **options: Any) -> NoReturn:
    """List the cases that a change can affect: they execute a function that differs between base and head.

    Builds both kernels and boots none.
    """
    console = terminal.console(stderr=True)
    request = _request(**options)
    folder = counts or newest_counts()
    if isinstance(request, Failure):
        raise SystemExit(print_failures([request], console))
    if folder is None:
        missing = wrong_usage(
            "there are no function counts under cliffwatch-results",
            "measure once with `cliffwatch run --mode icount`, or name a result directory with --counts",
        )
        raise SystemExit(print_failures([missing], console))
    progress = progress_display(console)
    with stopping() as stop:
        try:
            answer = _answer(request, folder, progress, stop)
        except Stopped:
            raise SystemExit(Exit.INTERRUPTED) from None
        except OSError as error:
            answer = (host_failure(error, request),)
        finally:
            progress.close()
    if isinstance(answer, tuple):
        raise SystemExit(print_failures(answer, console))
    click.echo(document_text(answer) if form == "json" else affected_text(answer), nl=False)
    raise SystemExit(Exit.DONE)


def _answer(
    request: RunRequest, folder: Path, progress: Progress, stop: threading.Event
) -> AffectedDocument | tuple[Failure, ...]:
    unwritable = open_cache(request.cache) or check_programs_run(request.cache)
    executed = read_executed(folder)
    if unwritable is not None or isinstance(executed, Failure):
        return tuple(each for each in (unwritable, executed) if isinstance(each, Failure))
    with cache_uses() as uses, build_folder(request.cache, request.trust, stop.is_set) as built:
        uses.take(request.cache / "mirror.git", make=True)
        run = prepare_run(request, progress, stop, uses, built)
        if isinstance(run, tuple):
            return run
        progress.begin("functions", "of both kernels")
        changed = differences(run.arms, run.programs, built, run.tools.guest_sandbox, stop.is_set)
        if isinstance(changed, Failure):
            return (changed,)
        code = code_of_arms(run)
        progress.end(f"{count_noun(len(changed.functions), 'function differs', 'functions differ')}")
    return affected_cases(run.arms, run.plan.cases, changed, executed, code)


def _request(**options: Any) -> RunRequest | Failure:
    arms = take_arms(options)
    if isinstance(arms, Failure):
        return arms
    suites, own_suites = take_suites(options)
    return make_request(suites=suites, own_suites=own_suites, arms=arms, mode="icount", boots=1, **options)


def affected_text(answer: AffectedDocument) -> str:
    """Formats the answer for a terminal."""
    return "\n".join(map(plain, _lines(answer))) + "\n"


def _lines(answer: AffectedDocument) -> Iterator[str]:
    total = len(answer.affected) + len(answer.unaffected)
    yield (
        f"{len(answer.affected)} of {count_noun(total, 'case')} can be affected: "
        f"{count_noun(len(answer.changed), 'function differs', 'functions differ')}"
    )
    yield f"  base  {answer.base}"
    yield f"  head  {answer.head}"
    if answer.at_start:
        yield ""
        yield (
            f"Every guest executes changed functions at boot or during set-up: {_abbreviate(answer.at_start)}"
        )
    if answer.guests_differ:
        yield ""
        yield "The guests' set-up differs: boot arguments, sysctls or parameters."
    if answer.affected:
        yield ""
        yield "Can be affected:"
        room = max(len(_name(case)) for case in answer.affected)
        for case in answer.affected:
            yield f"  {_name(case):<{room}}  {_why(case)}".rstrip()
    if answer.unaffected:
        yield ""
        yield "Cannot be affected:"
        yield from (f"  {_name(case)}" for case in answer.unaffected)
    yield ""
    yield f"The counts of executed functions are from {answer.counts}."
    if not answer.same_kernel:
        yield "They come from other kernels: base may execute more functions now."


def _why(case: AffectedCase) -> str:
    if not case.counted:
        return "never counted"
    return _abbreviate((*(("its suite's program",) if case.program else ()), *case.functions))


def _abbreviate(names: tuple[str, ...]) -> str:
    more = len(names) - _MOST_FUNCTIONS
    return ", ".join(names[:_MOST_FUNCTIONS]) + (f" and {more} more" if more > 0 else "")


def _name(case: AffectedCase) -> str:
    return f"{case.suite}/{case.case}"
