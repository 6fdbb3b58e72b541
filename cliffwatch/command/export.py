"""`cliffwatch export`: the samples of a run, for other tools."""

from pathlib import Path
from typing import NoReturn

import rich_click as click

from cliffwatch.catalogue.load import load_catalogue
from cliffwatch.command.terminal import echo_failure
from cliffwatch.failure import Exit, Failure
from cliffwatch.reports.go_bench import go_bench_report, run_settings
from cliffwatch.results import read_run


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--format", "format_", type=click.Choice(["go-bench"]), default="go-bench", show_default=True)
@click.option("--arm", multiple=True, help="Arm to export; may be repeated. Default: all.")
def export(run: Path, format_: str, arm: tuple[str, ...]) -> NoReturn:  # noqa: ARG001 - one format so far
    """Print every sample of the result directory RUN.

    `benchstat -col arm FILE` compares the arms of what is printed, and so does `cliffwatch compare FILE`.
    """
    run_read = read_run(run)
    if isinstance(run_read, Failure):
        raise SystemExit(echo_failure(run_read))
    unknown = set(arm) - set(run_read.arms)
    if unknown:
        click.echo(f"cliffwatch: {run} has no arm '{min(unknown)}'; choose among: {', '.join(run_read.arms)}", err=True)
        raise SystemExit(Exit.USAGE)
    arms = [each for name, each in run_read.arms.items() if not arm or name in arm]
    settings = run_settings(run_read.record.plan.notable, run_read.stages)
    of_run = tuple(run_read.arms.values())
    click.echo(go_bench_report(arms, load_catalogue().traits, settings=settings, of_run=of_run), nl=False)
    raise SystemExit(Exit.DONE)
