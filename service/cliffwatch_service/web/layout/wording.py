"""Formats times, durations and names for pages."""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from markupsafe import Markup, escape

from cliffwatch.formats.comparison import ComparisonRow

_COMMAND = re.compile(r"`([^`]+)`")
_UNITS = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))


def format_duration(seconds: float | None) -> str:
    """Returns a duration in its largest unit that fits at least twice: `3 min`, `2 h`. A dash for None."""
    if seconds is None:
        return "–"
    for size, unit in _UNITS:
        if abs(seconds) >= 2 * size or size == 1:
            return f"{seconds / size:.0f} {unit}"
    return "0 s"


def ago(at: datetime | None, now: datetime) -> str:
    if at is None:
        return "never"
    seconds = (now - at).total_seconds()
    return f"{format_duration(seconds)} ago" if seconds >= 0 else f"in {format_duration(-seconds)}"


def clock_time(at: datetime | None) -> str:
    return "–" if at is None else f"{at:%Y-%m-%d %H:%M} UTC"


def parameters(params: Mapping[str, str] | Sequence[Sequence[str]]) -> str:
    """Returns `nr_maps=16, batch=4`; empty for a case without parameters."""
    pairs = params.items() if isinstance(params, Mapping) else params
    return ", ".join(f"{name}={value}" for name, value in pairs)


def shorten_commit(commit: str | None) -> str:
    return (commit or "–")[:12]


MARKS: Mapping[str, str] = {
    "failed": "✕",
    "regression": "▲",
    "improvement": "▼",
    "changed": "≠",
    "inconclusive": "?",
    "missing": "–",
    "invalid": "✕",
}
"""Signs of verdicts, because not everybody can tell the colours apart."""


def mark(kind: str, *, sure: bool = True) -> str:
    """Returns the sign of a verdict or a kind of change. A candidate, not `sure`, has a hollow sign."""
    return MARKS.get(kind, "◇") if sure else "◇"


def tone(kind: str, *, sure: bool = True) -> str:
    """Returns the CSS class of a verdict. Only sure regressions and improvements have a colour."""
    return {"regression": "worse", "improvement": "better"}.get(kind, "") if sure else ""


def verdict_words(counts: Mapping[str, int]) -> str:
    """Returns `▲ 4 worse, ▼ 8 better, 16 unchanged`. Verdicts that need attention come first."""
    words = {"regression": "worse", "improvement": "better"}
    named = [name for name in (*MARKS, "unchanged") if counts.get(name)]
    return ", ".join(
        f"{MARKS.get(name, '')} {counts[name]} {words.get(name, name)}".strip() for name in named
    )


def mark_commands(text: str) -> Markup:
    """Escapes a text, and makes code of what stands between backquotes."""
    return Markup(_COMMAND.sub(r"<code>\1</code>", str(escape(text))))  # noqa: S704 - escaped first


def interval_words(level: float | None) -> str:
    """Returns `99 % interval` or the like; `run-to-run noise` for a counted value, which has no level."""
    return "run-to-run noise" if level is None else f"{100 * level:.3g} % interval"


def intervals_words(levels: Iterable[float | None]) -> str:
    """Returns the words for several levels: `95 % or 90 % interval or run-to-run noise`."""
    confident = [f"{100 * level:.3g} %" for level in levels if level is not None]
    words = [f"{' or '.join(confident)} interval"] if confident else []
    return " or ".join([*words, *("run-to-run noise" for level in levels if level is None)])


def levels_of(rows: Iterable[ComparisonRow]) -> tuple[float | None, ...]:
    """Returns the distinct levels of the rows' intervals, highest first; None stands for run-to-run noise."""
    levels = {row.interval_level for row in rows if row.ci_low is not None and row.ci_high is not None}
    return tuple(sorted(levels, key=lambda level: -(level or 0.0)))
