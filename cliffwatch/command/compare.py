"""`cliffwatch compare`: two runs, or any two files, held against each other."""

import gc
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NoReturn

import rich_click as click

from cliffwatch.catalogue.load import load_catalogue
from cliffwatch.command.report_options import ReportOptions, report_options
from cliffwatch.command.terminal import wants_no_colour
from cliffwatch.comparing.compare import Method
from cliffwatch.comparing.compare import compare as compare_arms
from cliffwatch.comparing.comparison import ComparisonSet, Incomparable
from cliffwatch.comparing.overhead import compare_less
from cliffwatch.comparing.rows import Traits
from cliffwatch.comparing.surroundings import case_traits, said_by
from cliffwatch.exits import Exit
from cliffwatch.importing import Unreadable, read_side
from cliffwatch.reports.commit import commit_report
from cliffwatch.reports.context import NO_CONTEXT, ReportContext, context_of_run
from cliffwatch.reports.explain import explain_report
from cliffwatch.reports.go_bench import go_bench_report
from cliffwatch.reports.json_report import json_report
from cliffwatch.reports.mail import mail_report
from cliffwatch.reports.markdown import markdown_report
from cliffwatch.reports.text import text_report
from cliffwatch.results import ResultProblem, Run, read_run
from cliffwatch.samples import Arm


def _html_report(compared: ComparisonSet, context: ReportContext) -> str:
    from cliffwatch.reports.html import html_report  # noqa: PLC0415 - the one report that needs a template engine

    return html_report(compared, context)


_WRITERS: Mapping[str, Callable[[ComparisonSet, ReportContext], str]] = {
    "json": json_report,
    "commit": commit_report,
    "markdown": markdown_report,
    "mail": mail_report,
    "html": _html_report,
}


@click.command()
@click.argument("base")
@click.argument("head", required=False)
@click.option("--less", metavar="LOOP", help="Subtract the times of an empty loop: a run or file with the same cases.")
@report_options
def compare(base: str, head: str | None, less: str | None, report: ReportOptions) -> NoReturn:
    """Compare two runs, or any two files of an import format.

    One result directory alone compares its own base and head. Of two, their heads are compared; DIR:base and DIR:control
    name other arms. Files may be bench output, Go benchmark format, veristat CSV or Bencher Metric Format.
    """
    gc.disable()  # hundreds of thousands of small objects that all live to the end: collecting only walks them
    loop = _side(less) if less is not None else None
    if head is None:
        raise SystemExit(report_of_run(Path(base), report, loop))
    sides = Sides(_side(base), _side(head), loop=loop)
    raise SystemExit(_report(sides, NO_CONTEXT, report, Method(notable=report.notable, one_run=False)))


def _side(name: str) -> Arm:
    """The named side; ends the command where it cannot be read."""
    side = read_side(name)
    if isinstance(side, Unreadable):
        click.echo(f"cliffwatch: {side.reason}\n  {side.next_step}", err=True)
        raise SystemExit(Exit.USAGE)
    return side


def report_of_run(folder: Path, report: ReportOptions, loop: Arm | None = None) -> Exit:
    """Writes the report of a result directory; the exit code tells what it found."""
    run = read_run(folder)
    if isinstance(run, ResultProblem):
        click.echo(f"cliffwatch: {run.path}: {run.reason}\n  {run.next_step}", err=True)
        return Exit.USAGE
    if not {"base", "head"} <= run.arms.keys():
        click.echo(f"cliffwatch: {folder} has no base and head to compare", err=True)
        return Exit.USAGE
    cpus = int((run.record.get("guest") or {}).get("cpus") or 1)
    sides = Sides(run.arms["base"], run.arms["head"], run.arms.get("control"), loop, cpus)
    ended = _report(sides, context_of_run(run), report, Method(notable=report.notable, stages=run.stages))
    return ended if ended is Exit.USAGE else _blame(run) or ended


def _blame(run: Run) -> Exit | None:
    """Whether an arm could not be measured, and whose fault that was."""
    whose = {(arm.get("failure") or {}).get("whose") for arm in run.record["arms"].values()}
    if "host" in whose:
        return Exit.HOST_FAILED
    died = any(
        outcome.status in ("panic", "timeout")
        for arm in run.arms.values()
        for boot in arm.boots
        for outcome in boot.outcomes
    )
    return Exit.KERNEL_FAILED if "kernel" in whose or died else None


@dataclass(frozen=True, slots=True)
class Sides:
    """What is compared; `loop` is an empty loop to subtract, `cpus` are those of the guests."""

    base: Arm
    head: Arm
    control: Arm | None = None
    loop: Arm | None = None
    cpus: int = 1


def _report(sides: Sides, context: ReportContext, report: ReportOptions, method: Method) -> Exit:
    known = partial(case_traits, load_catalogue().traits, sides.cpus)
    traits = said_by([sides.base, sides.head], known)
    compared = _compared(sides, traits, method)
    if isinstance(compared, Incomparable):
        click.echo(f"cliffwatch: {compared.reason}\n  {compared.next_step}", err=True)
        return Exit.USAGE
    text = _written(compared, (sides.base, sides.head), context, report, traits)
    if text is None:
        click.echo(
            f"cliffwatch: no case matches '{report.explain}'\n  a part of a name will do, or one with *", err=True
        )
        return Exit.USAGE
    if report.out is None:
        click.echo(text, nl=False)
    else:
        report.out.write_text(text)
    counts = compared.counts()
    met = any(counts[verdict] for verdict in counts if verdict in report.fail_on)
    return Exit.FAIL_ON_MET if met else Exit.DONE


def _compared(sides: Sides, traits: Traits, method: Method) -> ComparisonSet | Incomparable:
    def plainly(base: Arm, head: Arm) -> ComparisonSet | Incomparable:
        return compare_arms(base, head, traits, method, control=sides.control)

    if sides.loop is None:
        return plainly(sides.base, sides.head)
    return compare_less(sides.base, sides.head, sides.loop, plainly)


def _written(
    compared: ComparisonSet, arms: tuple[Arm, Arm], context: ReportContext, report: ReportOptions, traits: Traits
) -> str | None:
    """The text to print; None where `--explain` matches nothing."""
    if report.explain is not None:
        return explain_report(compared, report.explain)
    if report.format in _WRITERS:
        return _WRITERS[report.format](compared, context)
    if report.format == "go-bench":
        return go_bench_report(arms, traits)
    on_terminal = report.out is None and sys.stdout.isatty()
    colour = report.colour == "always" or (report.colour == "auto" and on_terminal and not wants_no_colour())
    width = max(72, shutil.get_terminal_size((140, 40)).columns) if on_terminal else 140
    return text_report(compared, context, colour=colour, width=width, all_metrics=report.all_metrics)
