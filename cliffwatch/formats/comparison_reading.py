"""Reads Comparison JSON of every version, whole or as it is stored: a summary, and its rows beside it."""

from typing import Any

from cliffwatch.formats.comparison import (
    FORMAT,
    FORMAT_VERSION,
    ComparisonDocument,
    ComparisonRow,
    ComparisonSummary,
)
from cliffwatch.formats.reading import Wrong, converted, read_as, read_json
from cliffwatch.formats.values import FreeJson

Rows = tuple[ComparisonRow, ...]

_OLD_COUNTED, _OLD_NOISY, _OLD_LEVEL = 0.002, 0.01, 0.99
"""What held when rows did not say their threshold and level, whatever holds now."""


def read_comparison(content: bytes) -> ComparisonDocument | Wrong:
    """A whole document of two arms."""
    raw = read_json(content)
    if isinstance(raw, Wrong) or not isinstance(raw, dict):
        return raw if isinstance(raw, Wrong) else Wrong("", "it holds no object")
    summary = summary_of(raw)
    if isinstance(summary, Wrong):
        return summary
    rows = _rows_of(raw.get("comparisons"), summary.notable)
    if isinstance(rows, Wrong):
        return rows
    if rows and summary.mode is None and summary.platform is None:
        return _document(summary, rows, rows[0])
    return _document(summary, rows, summary)


def _document(
    summary: ComparisonSummary, rows: Rows, measured: ComparisonSummary | ComparisonRow
) -> ComparisonDocument:
    members = {name: getattr(summary, name) for name in summary.__struct_fields__}
    where = {"platform": measured.platform, "mode": measured.mode}
    return ComparisonDocument(**(members | where), comparisons=rows)


def summary_of(raw: Any) -> ComparisonSummary | Wrong:
    """A document without its rows, from what its JSON holds. Version 1 said neither platform and mode nor the error of families."""
    if not isinstance(raw, dict) or raw.get("format") != FORMAT:
        return Wrong("format", "it is no comparison of Cliffwatch")
    version = raw.get("format_version")
    if version not in (1, FORMAT_VERSION) or isinstance(version, bool):
        return Wrong(
            "format_version",
            f"the comparison is of format {version}; this Cliffwatch reads up to {FORMAT_VERSION}",
        )
    try:
        return converted(_with_records(_of_today(raw) if version == 1 else raw), ComparisonSummary)
    except (TypeError, AttributeError, KeyError, ValueError) as error:
        return Wrong("", f"it is not as version 1 was: {error!r}")


def _with_records(raw: FreeJson) -> FreeJson:
    """With warnings as records: those of two arms alone were written as sentences."""
    warnings = raw.get("warnings")
    if not isinstance(warnings, list):
        return raw
    return {**raw, "warnings": [{"text": each} if isinstance(each, str) else each for each in warnings]}


def _of_today(raw: FreeJson) -> FreeJson:
    return {
        "platform": None,
        "mode": None,
        "alpha": None,
        "warnings": [],
        **raw,
        "format_version": FORMAT_VERSION,
        "sweeps": [
            {name.replace("_bend", "_breakpoint"): each[name] for name in each} for each in raw["sweeps"]
        ],
        "arms": [_side(name, raw[name]) for name in ("base", "head")],
    }


def _side(name: str, side: FreeJson) -> FreeJson:
    facts = {key: str(value) for key, value in side.items() if key not in ("label", "boots")}
    return {"name": name, "label": side["label"], "boots": side["boots"], "facts": facts}


def read_rows(content: bytes, notable: float) -> Rows | Wrong:
    """The rows of a document as they are stored; `notable` is its threshold."""
    rows = read_as(content, Rows)
    if not isinstance(rows, Wrong):
        return rows
    raw = read_json(content)
    return raw if isinstance(raw, Wrong) else _rows_of(raw, notable)


def _rows_of(raw: Any, notable: float) -> Rows | Wrong:
    if not isinstance(raw, list) or not all(isinstance(row, dict) for row in raw):
        return Wrong("comparisons", "it has no rows")
    return converted([_with_terms(row, notable) for row in raw], Rows)


def _with_terms(row: FreeJson, notable: float) -> FreeJson:
    """A row with its threshold and the level of its interval.

    Rows written before they said so get what the method did then: a row with a p-value has a 99 % confidence interval, one of icount
    without a p-value the band of repeatability; and noisy rows had a default of their own wherever the document's is that of
    counted ones.
    """
    if "threshold" in row:
        return row
    if row.get("mode") == "icount" and row.get("p") is None:
        return {**row, "threshold": notable, "interval_level": None}
    return {
        **row,
        "threshold": _OLD_NOISY if notable == _OLD_COUNTED else notable,
        "interval_level": _OLD_LEVEL,
    }
