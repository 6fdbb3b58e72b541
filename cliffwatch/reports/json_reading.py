"""Reads Comparison JSON back, so that what is stored can be written in every format."""

from collections.abc import Mapping, Sequence
from typing import Any

from cliffwatch.comparing.comparison import Comparison, ComparisonSet, Control, Mean, SideFacts, Sweep
from cliffwatch.results import case_from_json
from cliffwatch.samples import CaseOutcome


def comparison_set_from_json(summary: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> ComparisonSet:
    """The set of a document without its `comparisons`, and of these. Spreads and steps are in no document and so not here.

    Raises KeyError, TypeError where the content is none of ours.
    """
    comparisons = tuple(_comparison(row, summary["notable"]) for row in rows)
    control = summary["control"]
    return ComparisonSet(
        base=_side(summary["base"]),
        head=_side(summary["head"]),
        platform=rows[0]["platform"] if rows else None,
        mode=rows[0]["mode"] if rows else None,
        notable=summary["notable"],
        alpha=summary.get("alpha", 0.0),
        rows=comparisons,
        left_out=tuple(
            CaseOutcome(case=case_from_json(each), status=each["status"], reason=each["reason"])
            for each in summary["left_out"]
        ),
        means=tuple(Mean(**each) for each in summary["means"]),
        control=None if control is None else Control(**control),
        sweeps=tuple(_sweep(each) for each in summary["sweeps"]),
        warnings=tuple(summary.get("warnings", ())),
    )


def _side(side: Mapping[str, Any]) -> SideFacts:
    facts = {name: str(value) for name, value in side.items() if name not in ("label", "boots")}
    return SideFacts(label=side["label"], facts=facts, boots=side["boots"])


def _sweep(content: Mapping[str, Any]) -> Sweep:
    """Breakpoints are not in documents of older versions."""
    base, head = (content.get(name) for name in ("base_bend", "head_bend"))
    return Sweep(
        **{name: content[name] for name in ("suite", "benchmark", "parameter", "metric", "words")},
        base_breakpoint=None if base is None else (base[0], base[1]),
        head_breakpoint=None if head is None else (head[0], head[1]),
    )


_OLD_COUNTED, _OLD_NOISY, _OLD_LEVEL = 0.002, 0.01, 0.99
"""What held when rows did not say their threshold and level, whatever holds now."""


def terms_of_row(row: Mapping[str, Any], notable: float) -> tuple[float, float | None]:
    """Threshold and interval level of a row of Comparison JSON; `notable` is that of its document.

    Rows written before they said so fall back on what the method did then: a row with a p-value has a 99 % confidence
    interval, one of icount without a p-value the band of repeatability; and noisy rows had a default of their own wherever
    the document's is that of counted ones.
    """
    if "threshold" in row:
        return float(row["threshold"]), row["interval_level"]
    if row["mode"] == "icount" and row["p"] is None:
        return notable, None
    return _OLD_NOISY if notable == _OLD_COUNTED else notable, _OLD_LEVEL


def _comparison(row: Mapping[str, Any], notable: float) -> Comparison:
    names = ("metric", "unit", "better", "primary", "platform", "mode", "n_base", "n_head", "base", "head", "change")
    more = ("ci_low", "ci_high", "p", "q", "mde", "verdict", "reason", "needs")
    threshold, level = terms_of_row(row, notable)
    return Comparison(
        case=case_from_json(row),
        assume="exact" if level is None else "nothing",
        threshold=threshold,
        interval_level=level,
        notes=tuple(row["notes"]),
        **{name: row[name] for name in (*names, *more)},
    )
