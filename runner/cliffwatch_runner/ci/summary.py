"""Writes a job's summary in Markdown: the report of its result directory, or why there is none."""

from collections.abc import Iterable
from pathlib import Path

from cliffwatch.comparing.compare_run import compare_run, sides_of_run
from cliffwatch.comparing.comparison import ComparisonSet
from cliffwatch.failure import Failure
from cliffwatch.formats.result_directory import read_run
from cliffwatch.reports.context import context_of_run, with_functions
from cliffwatch.reports.markdown import code, inert, markdown_report
from cliffwatch.reports.several.unit_tables import UNIT_LEGEND, unit_tables
from cliffwatch_runner.ci.job_log import harmless
from cliffwatch_runner.ci.job_plan import JobPlan
from cliffwatch_runner.ci.published_results import library_of

_CASES = 200
"""Maximum number of cases in a table of the summary."""


def result_summary(folder: Path) -> str:
    """Returns the report of a result directory, or why the directory cannot be read or compared."""
    if not (folder / "run.json").is_file():
        return "### Nothing was measured\n\nThe job's log says why."
    run = read_run(folder)
    if isinstance(run, Failure):
        return nothing_measured((run,))
    compared = compare_run(sides_of_run(run))
    if isinstance(compared, Failure):
        return nothing_measured((compared,))
    report = markdown_report(compared, with_functions(context_of_run(run), [compared]))
    return report if library_of(run) is None else f"{report}\n{_by_unit(compared)}"


def _by_unit(compared: ComparisonSet) -> str:
    """Returns tables by unit, as Go developers read benchmarks."""
    return inert("\n".join([*unit_tables(compared, most=_CASES), UNIT_LEGEND])) + "\n"


def nothing_measured(failures: Iterable[Failure]) -> str:
    """Returns failures as a summary, with verbatim evidence. Markdown in the evidence has no effect."""
    lines = ["### Nothing was measured"]
    for failure in failures:
        lines += ["", *_verbatim(f"{failure.message}\n{failure.next_step}\n{failure.evidence}".rstrip())]
    return "\n".join(lines)


def plan_summary(plan: JobPlan) -> str:
    """Returns a few lines on the plan of a measurement."""
    measured = (
        f"{plan.commits} commit{'s' if plan.commits != 1 else ''} from `{plan.base[:12]}` to"
        f" `{plan.head[:12]}`"
    )
    targets = ", ".join(f"{target.platform} ({target.mode})" for target in plan.targets)
    lines = [f"cliffwatch: {measured} on {targets}" if plan.targets else "cliffwatch: nothing is measured"]
    if plan.library is not None:
        lines.append(f"- {code(plan.library.module)} on linux {code(plan.library.kernel)}")
    return "\n".join([*lines, *(f"- {note}" for note in plan.notes)])


def _verbatim(text: str) -> list[str]:
    """Returns the text as indented code, which no line of the text can end."""
    return [f"    {line[:400]}" for line in harmless(text).splitlines()[:60]]
