"""Writes reports on more than two arms."""

from collections.abc import Callable, Mapping, Sequence

from cliffwatch.command.report_options import ReportOptions, no_case_matches, terminal_of
from cliffwatch.comparing.comparison import ComparisonSet
from cliffwatch.failure import Failure, wrong_usage
from cliffwatch.reports.context import ReportContext
from cliffwatch.reports.explain import explain_report
from cliffwatch.reports.html import html_of_arms
from cliffwatch.reports.json_report import json_of_arms
from cliffwatch.reports.several.arms import commit_of_arms, markdown_of_arms, text_of_arms
from cliffwatch.reports.several.benchstat import benchstat_of_arms
from cliffwatch.reports.several.matrix import arm_names


def write_arm_reports(
    compared: Sequence[ComparisonSet],
    exported: Callable[[], str],
    context: ReportContext,
    report: ReportOptions,
) -> str | Failure:
    """Returns the report in the requested format, or why it cannot be written."""
    if report.explain is not None:
        return _explain(compared, report.explain)
    names = arm_names(compared)
    if report.format == "mail":
        return wrong_usage(
            f"a mail is of two arms, and this run has {len(names)}",
            f"name two of them: cliffwatch compare DIR:{names[0]} DIR:{names[-1]} --format mail",
        )
    if report.format == "go-bench":
        return exported()
    writer = _WRITERS.get(report.format)
    if writer is not None:
        return writer(compared, context)
    colour, width = terminal_of(report)
    return text_of_arms(compared, context, colour=colour, width=width, all_metrics=report.all_metrics)


_WRITERS: Mapping[str, Callable[[Sequence[ComparisonSet], ReportContext], str]] = {
    "json": json_of_arms,
    "commit": commit_of_arms,
    "markdown": markdown_of_arms,
    "html": html_of_arms,
    "benchstat": benchstat_of_arms,
}


def _explain(compared: Sequence[ComparisonSet], pattern: str) -> str | Failure:
    explained = [explain_report(each, pattern) for each in compared]
    titled = zip(compared, explained, strict=True)
    texts = [
        f"{each.head.name} against {each.base.name}\n{text}" for each, text in titled if text is not None
    ]
    return "\n".join(texts) or no_case_matches(pattern)
