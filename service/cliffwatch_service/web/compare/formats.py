"""Text formats of a comparison of several targets, and content negotiation."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from cliffwatch.comparing.attribution.documents import functions_of_document
from cliffwatch.comparing.comparison import ComparisonSet
from cliffwatch.formats.comparison import ComparisonRow
from cliffwatch.formats.run_record import RunRecord
from cliffwatch.reports.commit import commit_report
from cliffwatch.reports.context import ReportContext, context_of_record, repeat_of
from cliffwatch.reports.json_reading import comparison_set_of
from cliffwatch.reports.markdown import markdown_report
from cliffwatch.reports.text import text_report
from cliffwatch_service.compare.pairing import Answer

FORMS: Mapping[str, str] = {"json": ".json", "text": ".txt", "commit": ".commit", "markdown": ".md"}
"""Names of formats, and the suffixes that select them in a URL."""

MEDIA_TYPES: Mapping[str, str] = {
    "json": "application/json",
    "text": "text/plain; charset=utf-8",
    "commit": "text/plain; charset=utf-8",
    "markdown": "text/markdown; charset=utf-8",
}

_ACCEPTED: Mapping[str, str] = {
    "text/html": "html",
    "application/xhtml+xml": "html",
    "application/json": "json",
    "text/plain": "text",
    "text/markdown": "markdown",
}

DEMONSTRATION = "DEMONSTRATION DATA, not measured for you"


def wanted_form(pair: str, accept: str) -> tuple[str, str]:
    """Returns the pair without its suffix, and the format.

    The suffix decides; without one, the Accept header; without a known type in it, the format is HTML.
    """
    for form, suffix in FORMS.items():
        if pair.endswith(suffix):
            return pair.removesuffix(suffix), form
    ranked = sorted(_ranges(accept), key=lambda each: -each[1])
    return pair, next((_ACCEPTED[kind] for kind, share in ranked if kind in _ACCEPTED and share > 0), "html")


def _ranges(accept: str) -> list[tuple[str, float]]:
    ranges = []
    for part in accept.split(",")[:20]:
        kind, *parameters = (each.strip().lower() for each in part.split(";"))
        share = next((each[2:] for each in parameters if each.startswith("q=")), "1")
        try:
            ranges.append((kind, float(share)))
        except ValueError:
            ranges.append((kind, 0.0))
    return ranges


def write_reports(
    answers: Sequence[Answer],
    rows: Sequence[Sequence[ComparisonRow]],
    records: Sequence[RunRecord],
    form: str,
    *,
    demonstration: bool,
) -> str:
    """Writes one report per target. Each names its platform and mode."""
    write = _WRITERS[form]
    parts = [DEMONSTRATION + "\n"] if demonstration else []
    for each, of_target, record in zip(answers, rows, records, strict=True):
        compared = comparison_set_of(each.summary, of_target)
        base, head = compared.base.facts.get("commit"), compared.head.facts.get("commit")
        context = replace(
            context_of_record(record, None),
            functions=functions_of_document(each.summary.functions),
            repeat=repeat_of(record, base, head) if base and head else "",
        )
        parts.append(write(compared, context))
    return "\n".join(parts)


def _text(compared: ComparisonSet, context: ReportContext) -> str:
    return text_report(compared, context, colour=False)


_WRITERS: Mapping[str, Callable[[ComparisonSet, ReportContext], str]] = {
    "text": _text,
    "commit": commit_report,
    "markdown": markdown_report,
}
