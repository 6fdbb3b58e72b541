"""`cliffwatch suites`: lists, shows and checks suites."""

import json
from pathlib import Path

import rich_click as click
from rich.console import Console
from rich.table import Table

from cliffwatch.catalogue.folder import suites_folder
from cliffwatch.catalogue.load import load_catalogue, read_catalogue
from cliffwatch.catalogue.suite import Benchmark, Suite
from cliffwatch.command import terminal
from cliffwatch.command.terminal import Form, form_option
from cliffwatch.counting import count_noun
from cliffwatch.failure import Exit
from cliffwatch.samples import PROFILES, Profile


@click.group(invoke_without_command=True)
@click.pass_context
def suites(ctx: click.Context) -> None:
    """List, show and check the suites: what is measured, with which parameters, and for how long."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_suites, form="text")


@suites.command("list")
@form_option("Format of the list; JSON is an array of suites with their cases and guest seconds.")
def list_suites(*, form: Form) -> None:
    """One line a suite: cases and guest time of each profile."""
    catalogue = load_catalogue()
    if form == "json":
        click.echo(json.dumps([_summary(suite) for suite in catalogue.suites], indent=1))
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("suite", no_wrap=True)
    table.add_column("benchmarks", justify="right")
    for profile in PROFILES:
        table.add_column(profile, justify="right", no_wrap=True)
    table.add_column("what")
    for suite in catalogue.suites:
        table.add_row(
            suite.name, str(len(suite.benchmarks)), *(_profile(suite, each) for each in PROFILES), suite.title
        )
    totals = [_time(sum(_seconds(suite, each) for suite in catalogue.suites)) for each in PROFILES]
    table.add_row(
        "all", str(sum(len(suite.benchmarks) for suite in catalogue.suites)), *totals, "", style="dim"
    )
    terminal.console().print(table)
    click.echo("\ncases and guest time of each profile; `cliffwatch suites show NAME` for one suite")


def _seconds(suite: Suite, profile: Profile) -> int:
    return sum(case.guest_seconds for case in suite.cases(profile))


def _time(seconds: int) -> str:
    return f"{seconds} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def _profile(suite: Suite, profile: Profile) -> str:
    count = len(suite.cases(profile))
    return f"{count}, {_time(_seconds(suite, profile))}" if count else "-"


def _summary(suite: Suite) -> dict[str, object]:
    return {
        "name": suite.name,
        "title": suite.title,
        "benchmarks": [benchmark.name for benchmark in suite.benchmarks],
        "profiles": {
            each: {"cases": len(suite.cases(each)), "guest_seconds": _seconds(suite, each)}
            for each in PROFILES
        },
    }


@suites.command("show")
@click.argument("name")
def show(name: str) -> None:
    """One suite: its benchmarks, their cases and metrics."""
    catalogue = load_catalogue()
    suite = next((each for each in catalogue.suites if each.name == name), None)
    if suite is None:
        known = ", ".join(each.name for each in catalogue.suites)
        terminal.say(f"There is no suite '{name}'. Choose among: {known}")
        raise SystemExit(Exit.USAGE)
    console = terminal.console()
    console.print(f"[bold]{suite.title}[/] ({suite.source_file})\n\n{suite.about.strip()}\n", soft_wrap=True)
    if suite.program is not None:
        build = f", made by `{suite.program.build}`" if suite.program.build else ""
        console.print(f"its own program: {suite.program.run}{build}\n", soft_wrap=True)
    if suite.touches:
        console.print(
            f"`--suite auto` chooses it for {', '.join(suite.touches)}\n", soft_wrap=True, highlight=False
        )
    for benchmark in suite.benchmarks:
        _show_benchmark(console, benchmark, of_bench=suite.program is None)
    metrics = ", ".join(
        f"{metric} ({spec.unit}, {spec.better} is better)" for metric, spec in suite.metrics.items()
    )
    console.print(f"metrics: {metrics}", soft_wrap=True)


def _show_benchmark(console: Console, benchmark: Benchmark, *, of_bench: bool) -> None:
    about = "about " if benchmark.since_uncertain else ""
    since = f"since linux {about}{benchmark.since[0]}.{benchmark.since[1]}, " if of_bench else ""
    formerly = f"formerly {', '.join(benchmark.formerly)}, " if benchmark.formerly else ""
    repeats = (
        f"repeats within {benchmark.icount.repeatability:.2%}"
        if benchmark.icount.assume == "exact"
        else "noisy"
    )
    console.print(
        f"[bold]{benchmark.name}[/]  {since}{formerly}icount: {repeats}\n  {benchmark.about}", soft_wrap=True
    )
    for case in benchmark.cases:
        params = " ".join(f"{name}={value}" for name, value in case.params) or "defaults"
        console.print(f"    {params:<40} {', '.join(case.profiles)}")
    console.print()


@suites.command("check")
@click.argument("folders", nargs=-1, type=click.Path(path_type=Path, exists=True, file_okay=False))
def check(folders: tuple[Path, ...]) -> None:
    """Check every suite.toml of the FOLDERS (the installed suites by default)."""
    wrong = 0
    for folder in folders or (suites_folder(),):
        catalogue, errors = read_catalogue(folder)
        wrong += len(errors)
        for error in errors:
            terminal.say(str(error))
        cases = sum(len(benchmark.cases) for suite in catalogue.suites for benchmark in suite.benchmarks)
        click.echo(
            f"{folder}: {count_noun(len(catalogue.suites), 'suite')}, {count_noun(cases, 'case')},"
            f" {count_noun(len(errors), 'error')}"
        )
    raise SystemExit(Exit.USAGE if wrong else Exit.DONE)
