"""`cliffwatch export`: the samples of a run, for other tools."""

from pathlib import Path
from typing import NoReturn

import rich_click as click

from cliffwatch.catalogue.load import load_catalogue
from cliffwatch.exits import Exit
from cliffwatch.reports.go_bench import go_bench_report, run_settings
from cliffwatch.results import ResultProblem, notable_of, read_run


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--format", "format_", type=click.Choice(["go-bench"]), default="go-bench", show_default=True)
@click.option("--arm", multiple=True, help="Only this arm; may be repeated. Default: all.")
def export(run: Path, format_: str, arm: tuple[str, ...]) -> NoReturn:  # noqa: ARG001 - one format so far
    """Print every sample of the result directory RUN.

    `benchstat -col arm FILE` compares the arms of what is printed, and so does `cliffwatch compare FILE`.
    """
    found = read_run(run)
    if isinstance(found, ResultProblem):
        click.echo(f"cliffwatch: {found.path}: {found.reason}\n  {found.next_step}", err=True)
        raise SystemExit(Exit.USAGE)
    unknown = set(arm) - set(found.arms)
    if unknown:
        click.echo(f"cliffwatch: {run} has no arm '{min(unknown)}'; choose among: {', '.join(found.arms)}", err=True)
        raise SystemExit(Exit.USAGE)
    arms = [each for name, each in found.arms.items() if not arm or name in arm]
    settings = run_settings(notable_of(found.record), found.stages)
    of_run = tuple(found.arms.values())
    click.echo(go_bench_report(arms, load_catalogue().traits, settings=settings, of_run=of_run), nl=False)
    raise SystemExit(Exit.DONE)
