"""Explains the intervals, thresholds and signs of a report, and whether its changes are only placement.

Stands below every report for people.
"""

from collections.abc import Iterator, Sequence

from cliffwatch.comparing.ordering import is_likely
from cliffwatch.comparing.thresholds import MATCHED_LEVEL, MEAN_LEVEL
from cliffwatch.counting import count_noun
from cliffwatch.formats.comparison import ComparisonRow
from cliffwatch.formats.verdicts import MatchedChange, Mean
from cliffwatch.reports import figures

_BAND = "run-to-run noise of equal kernels"
_CONCLUSIONS = {
    True: "the change may be due to placement alone",
    False: "the change is not due to placement alone",
    None: "these boots do not tell whether it is placement alone",
}


def legend(rows: Sequence[ComparisonRow], means: Sequence[Mean] = ()) -> Iterator[str]:
    """Yields sentences on the figures and signs that occur in these rows, those on placement first."""
    yield from placement_sentences(rows)
    judged = [row for row in rows if row.change is not None]
    if judged:
        yield f"Intervals: {_intervals(judged, means)}."
    yield f"{_thresholds(judged or rows)}; ~ is within the noise."
    if any(row.verdict == "changed" for row in rows):
        yield (
            "≠ changed: nobody said which way is better; a line Unit UNIT better=higher (or lower) in the"
            " file does."
        )
    if any(row.verdict == "inconclusive" for row in rows):
        yield "? is inconclusive: these boots show neither a change nor that there is none."
    if any(map(is_likely, rows)):
        yield (
            "? likely: chance alone makes as much less than once in twenty rows, which is not rare enough"
            " among so many to report it."
        )


def placement_sentences(rows: Sequence[ComparisonRow]) -> Iterator[str]:
    """Yields a sentence for each row with a change in matched layouts."""
    for row in rows:
        sentence = placement(row)
        if sentence:
            yield f"{figures.case_name(row.case, row.metric)}: {sentence}."


def placement(row: ComparisonRow) -> str:
    """Returns the change in random and in matched layouts, and what follows; empty without the latter."""
    matched = row.matched
    if matched is None:
        return ""
    return (
        f"{figures.percent(row.change)} in random layouts, {figures.percent(matched.change)} in matched"
        f" layouts ({_interval(matched)}): {_CONCLUSIONS[matched.only_placement]}{_remark(row, matched)}"
    )


def _remark(row: ComparisonRow, matched: MatchedChange) -> str:
    """Returns what follows if the code changes the row, but too little to be reported."""
    bounds = [abs(bound) for bound in (matched.ci_low, matched.ci_high) if bound is not None]
    if matched.only_placement is not False or max(bounds, default=row.threshold) >= row.threshold:
        return ""
    return f", but without placement it is below the threshold of {figures.size(row.threshold)}"


def _interval(matched: MatchedChange) -> str:
    boots = count_noun(matched.pairs, "pair", "pairs") + " of boots"
    if matched.ci_low is None or matched.ci_high is None:
        return f"{boots}, too few for an interval"
    low, high = figures.percent(matched.ci_low), figures.percent(matched.ci_high)
    return f"{100 * MATCHED_LEVEL:g} % interval {low} to {high}, {boots}"


def thresholds_differ(rows: Sequence[ComparisonRow]) -> bool:
    """True if the rows of a report have different thresholds, so that each row must show its own."""
    return len({row.threshold for row in rows if row.change is not None}) > 1


def describe_threshold(row: ComparisonRow, usual: float) -> str | None:
    """Says a row's threshold: `noisy: not reported below 1 %`. None if the row has the usual threshold.

    For formats without a threshold column.
    """
    if row.threshold == usual or row.change is None:
        return None
    kind = "counted" if row.interval_level is None else "noisy"
    return f"{kind}: not reported below {figures.size(row.threshold)}"


def _intervals(rows: Sequence[ComparisonRow], means: Sequence[Mean]) -> str:
    levels = {row.interval_level for row in rows}
    noisy = _confidence(sorted({level for level in levels if level is not None}, reverse=True))
    if None not in levels:
        return noisy
    if noisy:
        return f"{noisy} for noisy rows; for counted rows {_BAND}"
    of_means = any(mean.ci_low is not None for mean in means)
    return f"{_BAND} (counted values){f'; {100 * MEAN_LEVEL:g} % confidence for means' if of_means else ''}"


def _confidence(levels: Sequence[float]) -> str:
    """Returns the confidence levels: `99 % confidence`.

    Unchanged rows may have intervals of a lower level.
    """
    if not levels:
        return ""
    if len(levels) == 1:
        return f"{100 * levels[0]:.3g} % confidence"
    lower = " or ".join(f"{100 * level:.3g}" for level in levels[1:])
    return f"{100 * levels[0]:.3g} % confidence, {lower} % where that rules out a change of the threshold"


def _thresholds(rows: Sequence[ComparisonRow]) -> str:
    """Says which changes are not reported; both thresholds if counted and noisy rows have different ones."""
    counted, noisy = (
        {row.threshold for row in rows if (row.interval_level is None) == kind} for kind in (True, False)
    )
    both = [figures.size(least) for thresholds in (counted, noisy) for least in sorted(thresholds)]
    if not both:
        return "Changes of any size are reported"
    if counted and noisy and counted != noisy:
        return f"Changes below {both[0]} in counted rows and {both[-1]} in noisy ones are not reported"
    return f"Changes below {both[0]} are not reported"
