"""Lists the curves that head changes in a comment, with the breakpoints of each side."""

from collections.abc import Iterator

from cliffwatch.comparing.sweeps.choice import curve_name
from cliffwatch.counting import count_noun
from cliffwatch.formats.verdicts import Sweep
from cliffwatch.pull_request.news import News
from cliffwatch.reports.markdown import code, escape_markdown, one_line, word
from cliffwatch.reports.several.across import Target

MOST = 8


def changed_curves(news: News) -> list[str]:
    """Returns lines of Markdown on at most `MOST` curves and the number of the others.

    Empty if head changes no curve.
    """
    found = [
        (sweep, target)
        for target, measured in zip(news.targets, news.measured, strict=True)
        for sweep in measured.compared.sweeps
        if sweep.differs
    ]
    if not found:
        return []
    more = len(found) - MOST
    rest = [f"- {count_noun(more, 'more curve')} that head surely changes"] if more > 0 else []
    return ["Curves that head surely changes:", "", *_lines(news, found[:MOST]), *rest, ""]


def _lines(news: News, found: list[tuple[Sweep, Target]]) -> Iterator[str]:
    for sweep, target in found:
        where = f" on {word(target.name)}" if len(news.targets) > 1 else ""
        yield one_line(f"{code(curve_name(sweep))}{where}: {escape_markdown(sweep.words)}", first="- ")
