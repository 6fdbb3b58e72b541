"""The report as a self-contained HTML page: no scripts, no requests to other hosts."""

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from cliffwatch.comparing.attribution.blocks import TITLE, function_blocks
from cliffwatch.comparing.attribution.profiles import PROFILE_TITLE
from cliffwatch.comparing.attribution.programs import program_blocks
from cliffwatch.comparing.comparison import DECIDED, ComparisonSet
from cliffwatch.comparing.ordering import is_beyond_noise
from cliffwatch.comparing.sweeps.choice import sweep_lines
from cliffwatch.counting import count_noun
from cliffwatch.reports import figures
from cliffwatch.reports.answer import answer_set
from cliffwatch.reports.context import (
    ReportContext,
    code_sentences,
    describe_measurement,
    limitation,
    profiles,
    shared_warnings,
    without_shared_warnings,
)
from cliffwatch.reports.legend import legend, thresholds_differ
from cliffwatch.reports.several.matrix import arm_names, cell, matrix
from cliffwatch.reports.styles import visible

_PAGES = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "pages"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)

_MOST_CASES = 200
_MOST_FUNCTIONS = 20


def html_report(compared: ComparisonSet, context: ReportContext) -> str:
    return html_of_arms([compared], context)


def html_of_arms(compared: Sequence[ComparisonSet], context: ReportContext) -> str:
    """Writes the report on any number of arms. For more than two arms, a matrix of all arms comes first."""
    shared = shared_warnings(compared) if len(compared) > 1 else ()
    parts = [_part(each, context) for each in (without_shared_warnings(compared) if shared else compared)]
    title = (
        parts[0]["sentence"]
        if len(parts) == 1
        else f"{len(parts) + 1} arms, each against {compared[0].base.name}"
    )
    page = _PAGES.get_template("report.html").render(
        title=title,
        parts=parts,
        context=context,
        warnings=shared,
        names=arm_names(compared) if len(parts) > 1 else (),
        matrix=matrix(compared) if len(parts) > 1 else (),
        cell=cell,
        figures=figures,
        beyond_noise=is_beyond_noise,
        DECIDED=DECIDED,
        counted=count_noun,
        functions_title=TITLE,
        profile_title=PROFILE_TITLE,
    )
    return visible(page)


def _part(compared: ComparisonSet, context: ReportContext) -> dict[str, object]:
    rows = compared.table_rows()
    shared = [(cases, row) for cases, row in figures.shared_reasons(rows) if len(cases) > 1 and row.reason]
    image = context.images.get(compared.head.name)
    answer = answer_set(compared, context)
    return {
        "compared": compared,
        "suites": [(suite, list(group)) for suite, group in groupby(rows, key=lambda row: row.suite)],
        "shared": [f"{', '.join(cases)}: {figures.explain_inconclusive(row)}" for cases, row in shared],
        "notes": [f"{figures.shorten_names(cases)}: {note}" for cases, note in figures.shared_notes(rows)],
        "below": {(row.verdict, row.reason) for _, row in shared},
        "sweep_lines": list(sweep_lines(compared.sweeps)),
        "sentence": answer.heading,
        "why": answer.below,
        "circumstances": describe_measurement(compared, context),
        "legend": list(legend(rows, compared.means)),
        "thresholds": thresholds_differ(rows),
        "functions": function_blocks(
            compared, context.functions, context.code, most=_MOST_CASES, each=_MOST_FUNCTIONS
        )[0],
        "profiles": profiles(compared, context),
        "code": code_sentences(compared, context),
        "image": image,
        "programs": program_blocks(image),
        "sight": limitation(compared.mode, compared.platform) if compared.mode else "",
    }
