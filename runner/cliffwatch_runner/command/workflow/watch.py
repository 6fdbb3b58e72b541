"""`cliffwatch ci watch`: measures the new commits of a branch once, and reports the changes."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

import rich_click as click
from msgspec.structs import replace

from cliffwatch.counting import count_noun
from cliffwatch.failure import Exit, Failure, wrong_usage
from cliffwatch.reports.markdown import inert
from cliffwatch.samples import MOST_ASKED_BOOTS
from cliffwatch.stats.history.culprits.question import ChangeDirection
from cliffwatch_runner.build.cache.entries import Stopped
from cliffwatch_runner.ci.branch_watch import WatchedRange, Watching, watch_branch
from cliffwatch_runner.ci.job_log import (
    add_to_summary,
    annotation,
    failure_annotation,
    harmless,
    write_outputs,
)
from cliffwatch_runner.ci.summary import nothing_measured, result_summary
from cliffwatch_runner.command.bisection.options import bisection_options, bisection_request
from cliffwatch_runner.command.bisection.report import text_report
from cliffwatch_runner.command.failures import host_failure
from cliffwatch_runner.command.options.measuring import mode_option
from cliffwatch_runner.command.stopping import stopping
from cliffwatch_runner.command.workflow.output import harmless_output
from cliffwatch_runner.run.bisection.pairs import Halted
from cliffwatch_runner.run.progress import PlainLines

_FILE = click.Path(path_type=Path, dir_okay=False)
_MOST_LINES = 300
"""Most lines of a bisection in the report, as GitHub takes 65,536 characters of an issue."""


@click.command()
@click.option("--branch", required=True, help="Branch of the repository, such as master.")
@click.option(
    "--state", type=_FILE, required=True, help="File with the commit up to which the branch was measured."
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    help="Folder of runs and report.md.",
)
@mode_option()
@click.option(
    "--boots",
    type=click.IntRange(1, MOST_ASKED_BOOTS),
    help="Boots per kernel; default: that of `cliffwatch run`.",
)
@click.option(
    "--output", type=_FILE, envvar="GITHUB_OUTPUT", help="File to append the outputs to: culprits, title."
)
@click.option(
    "--summary", type=_FILE, envvar="GITHUB_STEP_SUMMARY", help="File to append the report to as well."
)
@bisection_options
def watch(
    branch: str,
    state: Path,
    out: Path,
    output: Path | None,
    summary: Path | None,
    sought: ChangeDirection,
    tree: str,
    **options: Any,
) -> NoReturn:
    """Measure the commits of a branch since the last call, and bisect the changes.

    Compares the newest commit with the commit in the state file, names the culprits of regressions and
    improvements, writes report.md and updates the state file. Exits with 0 if it measured or nothing is new,
    with 3 if the newest commit does not build or boot (the state file stays), and with 4 if this machine
    failed.
    """
    if sought != "regression":
        raise SystemExit(
            _fail([wrong_usage("--change has no effect here", "leave it out: both directions are searched")])
        )
    repository = Path(tree).expanduser().resolve()
    if not repository.is_dir():
        raise SystemExit(
            _fail([wrong_usage(f"{tree} is not a folder", "clone the tree, and name the clone")])
        )
    request = bisection_request(tree=str(repository), base="", head="", **options)
    asked = Watching(repository=repository, branch=branch, state=state, out=out, request=request)
    with harmless_output(), stopping() as stop:
        progress = PlainLines(sys.stdout)
        try:
            ended = watch_branch(asked, progress, stop)
        except Stopped:
            ended = Halted(())
        except OSError as error:
            ended = Halted((host_failure(error, request),))
        finally:
            progress.close()
    if isinstance(ended, Halted):
        raise SystemExit(_fail(ended.failures) if ended.failures else Exit.INTERRUPTED)
    _write(ended, branch, out, output, summary)
    raise SystemExit(Exit.DONE if ended.failure is None else _fail([ended.failure]))


def _fail(failures: Sequence[Failure]) -> Exit:
    click.echo(failure_annotation(failures[0]))
    with harmless_output():
        for failure in failures:
            click.echo(f"cliffwatch: {failure.message}\n{failure.evidence[:8000]}\n  {failure.next_step}")
    return max(failure.exit for failure in failures)


def _write(ended: WatchedRange, branch: str, out: Path, output: Path | None, summary: Path | None) -> None:
    report = "\n".join(_report(ended, branch, out)) + "\n"
    out.mkdir(parents=True, exist_ok=True)
    (out / "report.md").write_text(report)
    culprits = sum(len(document.culprits) for document in ended.bisections)
    if output is not None:
        write_outputs(output, {"culprits": str(culprits), "title": _title(ended, branch)})
    with harmless_output():
        click.echo(_title(ended, branch))
    if summary is not None and not add_to_summary(summary, report):
        click.echo(
            annotation(
                "warning", "the summary is truncated: GitHub shows only 1 MiB; the artifact has all of it"
            )
        )


def _title(ended: WatchedRange, branch: str) -> str:
    """Returns the title, always the same for the same range."""
    named = harmless(" ".join(branch.split()))[:80]
    if ended.base == ended.head:
        return f"{named}: nothing new at {ended.head[:12]}"
    counts = [
        count_noun(
            sum(len(document.culprits) for document in ended.bisections if document.sought == way), way
        )
        for way in ("regression", "improvement")
    ]
    found = ", ".join(each for each in counts if not each.startswith("0 ")) or "no change"
    what = "cannot be measured" if ended.failure is not None else found
    return f"{named}: {what}, {ended.base[:12]} to {ended.head[:12]}"


def _report(ended: WatchedRange, branch: str, out: Path) -> Iterator[str]:
    yield f"### {inert(_title(ended, branch))}"
    for note in ended.notes:
        yield f"\n{note}"
    for document in ended.bisections:
        lines = text_report(replace(document, log=Path(document.log).name))
        yield ""
        yield from (f"    {line[:400]}" for line in harmless(lines).splitlines()[:_MOST_LINES])
    if ended.failure is not None:
        yield f"\n{nothing_measured((ended.failure,))}"
    elif ended.base != ended.head:
        yield f"\n{result_summary(out / 'run')}"
