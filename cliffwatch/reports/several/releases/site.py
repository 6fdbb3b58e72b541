"""The report on releases as a static site: one folder, no scripts, no requests to other hosts."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from cliffwatch.comparing.attribution.blocks import FunctionBlock, blocks_of_cases
from cliffwatch.counting import count_noun
from cliffwatch.reports import figures
from cliffwatch.reports.several.releases import gaps, words
from cliffwatch.reports.several.releases.audit import Audit, AuditRow, Step, SuiteAudit
from cliffwatch.reports.several.releases.sparkline import sparkline
from cliffwatch.reports.styles import visible

_PAGES = Environment(
    loader=FileSystemLoader([Path(__file__).parent / "pages", Path(__file__).parents[2] / "pages"]),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_MOST_BLOCKS = 40
_MOST_FUNCTIONS = 12


def pages_of(audit: Audit) -> Iterator[tuple[str, str]]:
    """Yields the name and the text of each page: `index.html`, and one per suite."""
    yield (
        "index.html",
        _render(
            "index.html",
            audit,
            title=words.title(audit),
            largest=list(words.largest(audit)),
            moved=list(words.moved(audit)),
        ),
    )
    for suite in audit.suites:
        yield (
            page_of(suite),
            _render(
                "suite.html",
                audit,
                title=f"{suite.name}, {audit.releases[0].name} to {audit.releases[-1].name}",
                suite=suite,
                blocks=list(_blocks(suite)),
                unmeasured=list(gaps.unmeasured(suite, audit.releases)),
                unjudged=list(gaps.unjudged(suite)),
                unreported=list(gaps.unreported(suite)),
            ),
        )


def page_of(suite: SuiteAudit) -> str:
    return f"{suite.name}.html"


def is_page_of_suite(page: str) -> bool:
    """True if a text is the page of a suite of some audit."""
    return f'<a href="index.html">{words.SUBJECT} ' in page


def _blocks(suite: SuiteAudit) -> Iterator[tuple[Step, FunctionBlock]]:
    """The functions behind the changes of a suite: rows with the same cause share a block."""
    by_step: dict[tuple[str, str], list[tuple[AuditRow, Step]]] = {}
    for row in suite.rows:
        for step in row.steps:
            if step is not None and step.functions is not None and step.functions.changes:
                by_step.setdefault((step.earlier, step.later), []).append((row, step))
    for found in by_step.values():
        found.sort(key=lambda each: -each[1].size)
        cases = [(row.case, step.functions) for row, step in found if step.functions is not None]
        blocks, _ = blocks_of_cases(cases, None, most=_MOST_BLOCKS, each=_MOST_FUNCTIONS)
        for block in blocks:
            yield found[0][1], _name_releases(block, found[0][1])


def _name_releases(block: FunctionBlock, step: Step) -> FunctionBlock:
    """The block with the names of the releases in place of base and head."""
    rows = tuple(replace(row, about=gaps.name_sides(row.about, step)) for row in block.rows)
    return replace(block, sentence=gaps.name_sides(block.sentence, step), rows=rows)


def _render(name: str, audit: Audit, **values: object) -> str:
    page = _PAGES.get_template(name).render(
        audit=audit,
        words=words,
        figures=figures,
        sparkline=sparkline,
        page_of=page_of,
        counted=count_noun,
        **values,
    )
    return visible(page)
