"""`cliffwatch bisect`: finds the commits between a good and a bad one that changed some cases."""

from pathlib import Path
from typing import Any, NoReturn

import rich_click as click
from rich.console import Console
from rich.markup import escape

from cliffwatch.command import terminal
from cliffwatch.command.terminal import form_option
from cliffwatch.failure import Exit, Failure, wrong_usage
from cliffwatch.formats.reading import document_text
from cliffwatch.samples import MODES, MOST_ASKED_BOOTS
from cliffwatch.stats.history.culprits.question import ChangeDirection
from cliffwatch_runner.command.bisection.options import (
    bisection_options,
    bisection_request,
    resolve_auto_suites,
)
from cliffwatch_runner.command.bisection.report import text_report
from cliffwatch_runner.command.failures import host_failure, print_failures
from cliffwatch_runner.command.options.measuring import BOTH, AskedMode, accel_option, mode_option
from cliffwatch_runner.command.stopping import stopping
from cliffwatch_runner.plan.writable_folders import RESULTS_HOME
from cliffwatch_runner.run.bisection.asked import BisectionRequest, question_of, run_bisection
from cliffwatch_runner.run.bisection.commits import History, read_history
from cliffwatch_runner.run.bisection.document import BisectionDocument
from cliffwatch_runner.run.bisection.pairs import Halted
from cliffwatch_runner.run.progress import progress_display
from cliffwatch_runner.source.named_repository import find_repository
from cliffwatch_runner.source.tree import is_url


@click.command()
@click.option("--good", required=True, metavar="REV", help="Commit without the change.")
@click.option("--bad", required=True, metavar="REV", help="Later commit that shows the change.")
@mode_option("Mode of measuring; both: icount, then walltime if icount does not show the change.", both=True)
@accel_option
@click.option(
    "--boots",
    type=click.IntRange(1, MOST_ASKED_BOOTS),
    help="Boots per kernel; default: that of `cliffwatch run`; in walltime, as many per step as the size of "
    "the change needs.",
)
@bisection_options
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder of the runs, state and log; default: a folder for this bisection under cliffwatch-results.",
)
@click.option(
    "--log",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Log for `git bisect replay`; default: bisect.log in the folder.",
)
@form_option("Format of the result.")
def bisect(tree: str, good: str, bad: str, sought: ChangeDirection, **options: Any) -> NoReturn:
    """Find the commits between a good and a bad one that changed some cases, also on merged branches.

    Measures good against bad first, and stops if they do not differ. Checks out nothing in the repository.
    Skips commits that do not build, as git bisect does. ^C is safe at any time: the same command resumes and
    measures nothing twice.
    """
    console = terminal.console(stderr=True)
    out, log, form = options.pop("out"), options.pop("log"), options.pop("form")
    repository = _repository(tree)
    history = repository if isinstance(repository, Failure) else read_history(repository, good, bad)
    if isinstance(history, Failure) or isinstance(repository, Failure):
        raise SystemExit(
            print_failures([f for f in (history, repository) if isinstance(f, Failure)][:1], console)
        )
    mode: AskedMode = options.pop("mode")
    modes = MODES if mode == BOTH else (mode,)
    request = bisection_request(tree=tree, base=history.good, head=history.bad, mode=modes[0], **options)
    suited = resolve_auto_suites(request, repository, history.good, history.bad)
    if isinstance(suited, Failure):
        raise SystemExit(print_failures([suited], console))
    request, on_suites = suited
    if on_suites:
        console.print(on_suites, highlight=False, soft_wrap=True, markup=False)
    folder = out or _folder(question_of(repository, history, request, modes, sought), history)
    progress = progress_display(console)
    try:
        with stopping() as stop:
            asked = BisectionRequest(
                repository, history, request, modes, sought, folder, log or folder / "bisect.log"
            )
            ended = run_bisection(asked, progress, stop)
    except OSError as error:
        ended = Halted((host_failure(error, request),))
    finally:
        progress.close()
    if not isinstance(ended, BisectionDocument):
        raise SystemExit(_report_halt(ended, folder, console))
    click.echo(text_report(ended) if form == "text" else document_text(ended), nl=False)
    raise SystemExit(Exit.DONE)


def _repository(tree: str) -> Path | Failure:
    """Returns the path of the local repository. Its history is read in place."""
    path = Path(tree).expanduser()
    if is_url(tree) or not path.is_dir() or find_repository(path) is None:
        return wrong_usage(
            f"{tree} is not a git repository on this machine", "clone the tree, and name the clone"
        )
    return path.resolve()


def _folder(question: str, history: History) -> Path:
    return RESULTS_HOME / f"bisect-{history.good[:12]}-{history.bad[:12]}-{question[:8]}"


def _report_halt(ended: Halted, folder: Path, console: Console) -> Exit:
    if ended.failures:
        return print_failures(ended.failures, console)
    console.print(
        f"cliffwatch: interrupted; the results so far are in {escape(str(folder))}. "
        "Run the same command to resume.",
        highlight=False,
        soft_wrap=True,
    )
    return Exit.INTERRUPTED
