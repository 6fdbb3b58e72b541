"""`cliffwatch compare`: reports on two runs or two files."""

import gc
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import NoReturn, cast

import rich_click as click

from cliffwatch.command.blame import blame, failures_of_arms, failures_of_programs
from cliffwatch.command.report_options import ReportOptions, no_case_matches, report_options, terminal_of
from cliffwatch.command.terminal import echo_failure
from cliffwatch.comparing.compare_run import Sides, compare_all, sides_of_run, with_fresh_boots
from cliffwatch.comparing.comparison import ComparisonSet
from cliffwatch.comparing.placement.layouts import count_layouts
from cliffwatch.comparing.verdicts.processors import without_processors
from cliffwatch.failure import Exit, Failure, wrong_usage
from cliffwatch.importing import import_file, read_side
from cliffwatch.parsers.received.opening import STANDARD_INPUT, refuse_shared_pipe
from cliffwatch.reports.context import (
    NO_CONTEXT,
    ReportContext,
    context_of_arm,
    context_of_run,
    with_functions,
)
from cliffwatch.reports.text import text_report
from cliffwatch.samples import AUXILIARY_ARMS, CONTROL, MATCHED, Arm

_WRITERS: Mapping[str, str] = {
    "json": "cliffwatch.reports.json_report:json_report",
    "commit": "cliffwatch.reports.commit:commit_report",
    "markdown": "cliffwatch.reports.markdown:markdown_report",
    "mail": "cliffwatch.reports.mail.report:mail_report",
    "html": "cliffwatch.reports.html:html_report",
    "benchstat": "cliffwatch.reports.several.benchstat:benchstat_report",
}
"""Module and function of each format except text and go-bench. Only the requested module is imported."""


_ALWAYS_UTF8 = ("json", "html", "go-bench")
"""Formats that are written in UTF-8 in every locale."""

_MOST_FAILURES = 10
"""Maximum number of program failures that are printed: a broken program fails in each of its cases."""


@click.command()
@click.argument("base")
@click.argument("head", required=False)
@click.option("--less", metavar="LOOP", help="Empty loop to subtract: a run or file with the same cases.")
@click.option(
    "--confirm",
    nargs=2,
    metavar="BASE HEAD",
    help="Fresh boots of both sides: only what they bear out is reported.",
)
@click.option(
    "--ignore-procs",
    is_flag=True,
    help="Compare Go benchmarks whatever number of processors (-8) ends their names.",
)
@click.option(
    "--token-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Of the address of a private service: file with a token of the scope `read`, readable only by you.",
)
@report_options
def compare(
    base: str,
    head: str | None,
    less: str | None,
    confirm: tuple[str, str] | None,
    ignore_procs: bool,
    token_file: Path | None,
    report: ReportOptions,
) -> NoReturn:
    """Compare two runs, or any two files of an import format.

    One result directory alone compares its own base and head. Of two, their heads are compared; DIR:base
    and DIR:control name other arms. A file that holds several arms is compared like a directory; FILE:base
    names one of them. One side may be a pipe or standard input (`-`); docs/formats.md has the formats that
    are read, .gz, .xz, .zst and .zip among them.

    The address of a comparison or run on a service prints that report as text, json, commit or markdown. The
    token of CLIFFWATCH_TOKEN goes to the service of CLIFFWATCH_URL alone.
    """
    if _is_address(base) or (head is not None and _is_address(head)):
        alone = not (head or less or confirm or ignore_procs)
        raise SystemExit(_report_of_address(base, token_file, report, alone=alone))
    if token_file is not None:
        raise SystemExit(
            echo_failure(
                wrong_usage(
                    f"--token-file is for the address of a service, and {base} is a file",
                    "leave --token-file out, or compare an address: https://bench.example.org/compare/BASE...HEAD",
                )
            )
        )
    gc.disable()  # hundreds of thousands of small objects live to the end: a collection only walks them
    shared = refuse_shared_pipe(filter(None, (base, head, less, *(confirm or ()))))
    if shared is not None:
        raise SystemExit(echo_failure(shared))
    if head is None:
        if ignore_procs:
            raise SystemExit(
                echo_failure(
                    wrong_usage("--ignore-procs is of two sides", f"name them: {base}:base {base}:head")
                )
            )
        if confirm is not None:
            raise SystemExit(
                echo_failure(
                    wrong_usage("--confirm needs both sides by name", f"name them: {base}:base {base}:head")
                )
            )
        raise SystemExit(_report_alone(base, report, _side(less) if less is not None else None))
    side = _side_without_processors if ignore_procs else _side
    sides = Sides(base=side(base), head=side(head), loop=side(less) if less is not None else None)
    if confirm is not None:
        sides = _add_fresh_boots(sides, side(confirm[0]), side(confirm[1]))
    raise SystemExit(_report(sides, NO_CONTEXT, report))


def _add_fresh_boots(sides: Sides, base: Arm, head: Arm) -> Sides:
    """Adds fresh boots to the sides. Ends the command if the boots do not belong to them."""
    confirmed = with_fresh_boots(sides, base, head)
    if isinstance(confirmed, Failure):
        raise SystemExit(echo_failure(confirmed))
    return confirmed


def _side_without_processors(name: str) -> Arm:
    """Reads a side for --ignore-procs. Ends the command if two cases get the same name."""
    bare = without_processors(_side(name))
    if isinstance(bare, Failure):
        raise SystemExit(echo_failure(bare))
    return bare


def _side(name: str) -> Arm:
    """Reads a side. Ends the command if it cannot be read."""
    side = read_side(name)
    if isinstance(side, Failure):
        raise SystemExit(echo_failure(side))
    return side


def _is_address(name: str) -> bool:
    return name.startswith(("http://", "https://"))


def _report_of_address(address: str, token_file: Path | None, report: ReportOptions, *, alone: bool) -> Exit:
    """Prints the report behind an address. `alone`: the command names nothing else to compare."""
    if not alone or report.explain is not None or report.fail_on:
        return echo_failure(
            wrong_usage(
                "an address is compared alone, without --less, --confirm, --ignore-procs, --explain and"
                " --fail-on",
                "compare the runs' files for these: the page of a run has them",
            )
        )
    from cliffwatch.command.service_report import fetch_report  # noqa: PLC0415 - of addresses alone

    text = fetch_report(address, report.format, token_file=token_file, say=partial(click.echo, err=True))
    return echo_failure(text) if isinstance(text, Failure) else _deliver(text, report)


def _report_alone(name: str, report: ReportOptions, loop: Arm | None) -> Exit:
    """Reports on the arms of one result directory, file or standard input."""
    is_run = name != STANDARD_INPUT and (Path(name).is_dir() or not Path(name).exists())
    return report_of_run(Path(name), report, loop) if is_run else _report_of_file(name, report, loop)


def _report_of_file(path: str, report: ReportOptions, loop: Arm | None) -> Exit:
    """Reports on the arms of a file: base and head, or its only two arms."""
    imported = import_file(path)
    if isinstance(imported, Failure):
        return echo_failure(imported)
    names = list(imported.arms)
    if len(names) == 1:
        return echo_failure(
            wrong_usage(f"{path} holds one side", f"name the other one too: cliffwatch compare {path} HEAD")
        )
    pair = ("base", "head") if {"base", "head"} <= set(names) else tuple(names)
    if len(pair) != 2:
        shown = ", ".join(f"{path}:{name}" for name in names)
        return echo_failure(
            wrong_usage(f"{path} holds {len(names)} arms, and none of them is base", f"name two of {shown}")
        )
    others = [name for name in names if name not in (*pair, *AUXILIARY_ARMS)]
    if others:
        named = f"cliffwatch compare {path}:{pair[0]} {path}:{others[0]}"
        click.echo(f"{path} also holds {', '.join(others)}, not compared here: {named}", err=True)
    sides = Sides(
        base=imported.arms[pair[0]],
        head=imported.arms[pair[1]],
        control=imported.arms.get(CONTROL),
        matched=imported.arms.get(MATCHED),
        loop=loop,
        stages=imported.stages,
        notable=imported.notable,
        one_run=imported.one_run,
    )
    return _report(sides, context_of_arm(sides.head), report)


def report_of_run(folder: Path, report: ReportOptions, loop: Arm | None = None) -> Exit:
    """Writes the report of a result directory and returns the exit code."""
    from cliffwatch.formats.result_directory import (  # noqa: PLC0415 - the types of documents are for runs alone
        read_run,
    )

    run = read_run(folder)
    if isinstance(run, Failure):
        return echo_failure(run)
    if len(run.arms.keys() - AUXILIARY_ARMS) < 2:
        return echo_failure(
            wrong_usage(
                f"{folder} has one arm", f"name what it is compared with: cliffwatch compare {folder} OTHER"
            )
        )
    ended = _report(replace(sides_of_run(run), loop=loop), context_of_run(run), report)
    if ended is Exit.USAGE:
        return ended
    failures = failures_of_programs(run)
    for failure in (*failures_of_arms(run), *failures[:_MOST_FAILURES]):
        echo_failure(failure)
    return blame(run, failures) or ended


def _report(sides: Sides, context: ReportContext, report: ReportOptions) -> Exit:
    if report.notable is not None:
        sides = replace(sides, notable=report.notable)
    sides = replace(sides, varying=report.varying)
    compared = compare_all(sides)
    if isinstance(compared, Failure):
        return echo_failure(compared)
    context = with_functions(context, compared)
    if len(compared) == 1:
        text = _write_report(compared[0], partial(_write_samples, sides), context, report)
    else:
        from cliffwatch.command.several_arms import (  # noqa: PLC0415 - of more than two arms alone
            write_arm_reports,
        )

        text = write_arm_reports(compared, partial(_write_samples, sides), context, report)
    if isinstance(text, Failure):
        return echo_failure(text)
    delivered = _deliver(text, report)
    if delivered is not Exit.DONE:
        return delivered
    met = any(
        count and verdict in report.fail_on for each in compared for verdict, count in each.counts().items()
    )
    return Exit.FAIL_ON_MET if met else Exit.DONE


def _deliver(text: str, report: ReportOptions) -> Exit:
    """Prints a report, or writes it to the file that was named."""
    if report.out is None:
        click.echo(text.encode(errors="replace") if report.format in _ALWAYS_UTF8 else text, nl=False)
    else:
        try:
            report.out.write_text(text, encoding="utf-8", errors="replace")
        except OSError as error:
            click.echo(
                f"cliffwatch: the report cannot be written: {error}\n  make room and `cliffwatch compare`"
                " again",
                err=True,
            )
            return Exit.HOST_FAILED
    return Exit.DONE


def _writer(format_: str) -> Callable[[ComparisonSet, ReportContext], str]:
    module, _, function = _WRITERS[format_].partition(":")
    return cast("Callable[[ComparisonSet, ReportContext], str]", getattr(import_module(module), function))


def _write_samples(sides: Sides) -> str:
    """Exports the samples of all sides and of the control.

    Two sides are renamed to base and head: when two runs are compared, both are called head.
    """
    from cliffwatch.reports.exports.go_bench import (  # noqa: PLC0415 - of this format alone
        go_bench_report,
        run_settings,
    )

    arms = [replace(sides.base, name="base"), replace(sides.head, name="head")]
    if sides.further:
        arms = [sides.base, sides.head, *sides.further]
    if sides.control is not None:
        arms.append(replace(sides.control, name=CONTROL))
    if sides.matched is not None:
        arms.append(replace(sides.matched, name=MATCHED))
    layouts = min(count_layouts(side.boots) for side in (sides.base, sides.head))
    settings = run_settings(
        sides.notable,
        sides.stages,
        one_run=sides.one_run,
        arms=arms,
        layouts=layouts if layouts > 1 else None,
    )
    return go_bench_report(arms, sides.traits(), settings=settings)


def _write_report(
    compared: ComparisonSet, exported: Callable[[], str], context: ReportContext, report: ReportOptions
) -> str | Failure:
    if report.explain is not None:
        from cliffwatch.reports.explain import explain_report  # noqa: PLC0415 - of one option alone

        return explain_report(compared, report.explain, context) or no_case_matches(report.explain)
    if report.reply is not None:
        from cliffwatch.reports.mail.reply import reply_report  # noqa: PLC0415 - as above

        return reply_report(compared, context, report.reply, date=datetime.now(UTC))
    if report.format in _WRITERS:
        return _writer(report.format)(compared, context)
    if report.format == "go-bench":
        return exported()
    colour, width = terminal_of(report)
    return text_report(compared, context, colour=colour, width=width, all_metrics=report.all_metrics)
