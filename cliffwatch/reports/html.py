"""The report as one page that needs nothing else: no script, no other host."""

from itertools import groupby
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from cliffwatch.comparing.comparison import DECIDED, ComparisonSet
from cliffwatch.comparing.ordering import beyond_noise
from cliffwatch.comparing.sweeps.choice import sweep_lines
from cliffwatch.counting import counted
from cliffwatch.reports import figures
from cliffwatch.reports.context import SIGHT, ReportContext, sentence, trials
from cliffwatch.reports.legend import legend, thresholds_differ
from cliffwatch.reports.styles import visible

_PAGES = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "pages"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def html_report(compared: ComparisonSet, context: ReportContext) -> str:
    rows = compared.primary_rows()
    suites = [(suite, list(group)) for suite, group in groupby(rows, key=lambda row: row.case.suite)]
    page = _PAGES.get_template("report.html").render(
        compared=compared,
        context=context,
        suites=suites,
        figures=figures,
        beyond_noise=beyond_noise,
        DECIDED=DECIDED,
        sweep_lines=list(sweep_lines(compared.sweeps)),
        counted=counted,
        sentence=sentence(compared),
        trials=trials(compared),
        legend=list(legend(rows, compared.means)),
        thresholds=thresholds_differ(rows),
        sight=SIGHT[compared.mode] if compared.mode else "",
    )
    return visible(page)
