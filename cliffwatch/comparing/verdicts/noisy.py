"""Verdicts on noisy values. The boot is the unit, the test is by ranks, and the family shares the error."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from cliffwatch.comparing.comparison import CHANGES, Comparison
from cliffwatch.comparing.rows import Row, Side, largest_steps
from cliffwatch.comparing.thresholds import CLOSE, LARGEST_DETECTABLE, LARGEST_RATIO, LIKELY, direction
from cliffwatch.comparing.verdicts.apart import Apart, BetweenSides, between_sides, reasons_of
from cliffwatch.comparing.verdicts.digits import judge_digits
from cliffwatch.comparing.verdicts.notes import notes_of
from cliffwatch.comparing.verdicts.stage_values import boots_of_stage
from cliffwatch.counting import count_noun
from cliffwatch.formats.verdicts import Verdict
from cliffwatch.stats.boot_values import BootValues
from cliffwatch.stats.deciding import Decision, StagedValues, decide_fixed, decide_staged
from cliffwatch.stats.noise.components import components
from cliffwatch.stats.power.detectable import (
    boots_needed,
    detectable,
    detectable_in_pairs,
    detectable_staged,
    needs_range,
)
from cliffwatch.stats.power.detection import least_boots
from cliffwatch.stats.published_size import LEVEL, PublishedSize, published_size
from cliffwatch.stats.rank_tables import Values
from cliffwatch.stats.stages import Stages
from cliffwatch.stats.summaries import Summary, summarise_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyError:
    """Error budget of a family of rows."""

    of_report: float
    """Family-wise error rate of the whole report."""
    share: float = 1.0
    """This family's share of it."""

    @property
    def of_family(self) -> float:
        return self.share * self.of_report


def judge_family(
    drafts: Sequence[Comparison],
    rows: Sequence[Row],
    *,
    one_run: bool,
    threshold: float,
    error: FamilyError,
    stages: Stages | None,
    apart: Sequence[Apart | None],
) -> tuple[list[Comparison], list[int]]:
    """Judges one family of noisy rows together.

    Returns their comparisons and the indexes of rows that need another look. `drafts` come from `blank`.
    `apart` has an entry for each row: None if its sides were interleaved.
    """
    stages = None if stages is None else stages.with_share(error.share)
    family: Sequence[BootValues] = boots_of_stage(rows, "screen", one_run=one_run)
    if stages is None:
        decisions = decide_fixed(family, margin=threshold, alpha=error.of_family)
    else:
        confirming = boots_of_stage(rows, "confirm", one_run=one_run)
        staged = [
            StagedValues(screened=first, confirming=later)
            for first, later in zip(family, confirming, strict=True)
        ]
        decisions = decide_staged(staged, stages, margin=threshold)
        family = [decision.used for decision in decisions]
    summaries = summarise_rows(
        family,
        [decision.in_pairs for decision in decisions],
        levels=[decision.level or 1 - error.of_report for decision in decisions],
        notable=threshold,
        alpha=error.of_family,
        spread_in_pairs=stages is None,
    )
    candidates = sum(decision.direction != 0 for decision in decisions)
    setting = _Setting(
        threshold=threshold, error=error, family=len(rows), candidates=candidates, stages=stages
    )
    drifts = between_sides(
        family, apart, decisions, summaries, level=1 - error.of_report, row_error=setting.row_alpha
    )
    steps = largest_steps(rows)
    least = least_boots(_row_error(setting))
    hidden = [
        drift is not None and drift.hides(decision, summary, threshold, least)
        for drift, decision, summary in zip(drifts, decisions, summaries, strict=True)
    ]
    judged = [
        _judge_row(
            drafts[row], rows[row], decisions[row], summaries[row], steps[row], drifts[row], why, setting
        )
        for row, why in enumerate(reasons_of(drifts, hidden))
    ]
    return judged, [index for index, decision in enumerate(decisions) if decision.waiting]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Setting:
    """Values that all rows of a family share."""

    threshold: float
    error: FamilyError
    family: int
    candidates: int
    stages: Stages | None

    @property
    def row_alpha(self) -> float:
        """The error of one row in the worst case."""
        return self.error.of_family / self.family


def _judge_row(
    draft: Comparison,
    row: Row,
    decision: Decision,
    summary: Summary,
    step: float,
    drift: BetweenSides | None,
    hidden: str | None,
    setting: _Setting,
) -> Comparison:
    """Judges one row from the decision about it.

    `step` is that of the printed digits, a fraction. Like drift between the sides, it is added to the
    interval and to the detectable change. `hidden` says why drift keeps the row inconclusive; None if it does
    not.
    """
    used, own_q = decision.used, min(1.0, decision.q / setting.error.share)
    p, q, mde = decision.p, own_q, _detectable(summary.spread, decision, setting)
    if drift is not None:
        p, q = max(p, drift.p), max(q, min(1.0, drift.p * setting.family / setting.error.share))
        mde = None if mde is None else (1 + mde) * math.exp(drift.detectable) - 1
    verdict, reason, needs = _verdict(decision._replace(p=p), q, summary, row, setting)
    if hidden is not None:
        verdict, reason, needs = "inconclusive", hidden, None
    size = _size(decision, own_q, setting) if verdict in CHANGES else None
    low, high = (summary.low, summary.high) if size is None else (size.low, size.high)
    if drift is not None:
        low, high = drift.widened(low, high, None if size is None else size.shift)
    judged = replace(
        draft,
        n_base=len(used.base),
        n_head=len(used.head),
        observed=row.observed,
        base=_centre(row.base, used.base, summary.base),
        head=_centre(row.head, used.head, summary.head),
        change=math.expm1(min(summary.shift if size is None else size.shift, math.log(LARGEST_RATIO))),
        ci_low=_fraction_of_log(low),
        ci_high=_fraction_of_log(high),
        p=p,
        q=q,
        mde=mde,
        interval_level=decision.level or (1 - setting.error.of_report if size is None else LEVEL),
        verdict=verdict,
        reason=reason,
        needs=needs,
        notes=(*row.notes, *notes_of(summary, size)),
    )
    return judge_digits(judged, step, lambda: _steps(judged, row, decision, summary.spread, drift, setting))


def _row_error(setting: _Setting) -> float:
    """Error of a row in the test that decides it."""
    return setting.row_alpha if setting.stages is None else setting.error.of_family


def _centre(side: Side, used: Values, log: float) -> float:
    """The median of the boots that decided.

    Taken from the values if all boots decided, because a logarithm does not give back every digit.
    """
    if len(used) < side.boots:
        return float(f"{math.exp(log):.12g}")
    median = float(statistics.median(side.values.tolist()))
    return median if side.boots % 2 else float(f"{median:.15g}")


def _size(decision: Decision, q: float, setting: _Setting) -> PublishedSize | None:
    """Size of a published row, given that it passed its test. The critical p-value follows from p and q."""
    ranked = decision.used.ranked(in_pairs=decision.in_pairs)
    sides = 2 if setting.stages is None else 1
    critical = decision.p * setting.error.of_report / q / sides
    return published_size(ranked, direction=float(ranked.shift), critical_p=critical)


def _fraction_of_log(log: float) -> float | None:
    """Returns a change from its logarithm; None if no two values that are compared can lie so far apart."""
    return math.expm1(log) if math.isfinite(log) and log <= math.log(LARGEST_RATIO) else None


def _detectable(spread: float, decision: Decision, setting: _Setting) -> float | None:
    used = decision.used
    if setting.stages is not None:
        shift = detectable_staged(spread, setting.stages, setting.candidates)
    elif decision.in_pairs:
        shift = detectable_in_pairs(spread, len(used.paired().base), setting.row_alpha)
    else:
        shift = detectable(spread, len(used.base), len(used.head), setting.row_alpha)
    return None if shift is None or shift > math.log(LARGEST_DETECTABLE) else math.expm1(shift)


def _verdict(
    decision: Decision, q: float, summary: Summary, row: Row, setting: _Setting
) -> tuple[Verdict, str, int | None]:
    if decision.outcome == "changed":
        return direction(summary.shift, row.traits.better), f"q = {q:.2g}", None
    if decision.outcome == "changed-small":
        return "unchanged", f"real, but below the threshold of {100 * setting.threshold:.4g}%", None
    if decision.outcome == "equivalent":
        return "unchanged", f"a change of {100 * setting.threshold:.4g}% is ruled out", None
    return "inconclusive", *_explain_inconclusive(decision, q, summary, row.observed, setting)


def _explain_inconclusive(
    decision: Decision, q: float, summary: Summary, observed: str, setting: _Setting
) -> tuple[str, int | None]:
    """Why a row is inconclusive, and how many boots per arm would decide it; None if unknown.

    `observed` is what a value is of: the numbers are of layouts where that is a layout.
    """
    boots = min(len(decision.used.base), len(decision.used.head))
    error = _row_error(setting)
    least, margin = least_boots(error), math.log1p(setting.threshold)
    if boots < 2:
        return f"{boots} {observed} is too few to decide; {least} per kernel are the least", None
    if boots < least:
        needs = max(least, boots_needed(margin, summary.spread, error))
        words = (
            f"{count_noun(boots, observed)} per kernel are too few to decide among"
            f" {count_noun(setting.family, 'row')}"
        )
        return (
            f"{words}: {least} are the least; {_settling(needs, decision, 'decide', observed, least)}",
            needs,
        )
    if decision.p <= LIKELY and abs(summary.shift) >= margin:
        needs = boots_needed(abs(summary.shift), summary.spread, error)
        chance = f"likely: p = {decision.p:.1g} alone, {q:.1g} among {count_noun(setting.family, 'row')}"
        return (
            f"{chance}; {_settling(needs, decision, 'settle this change', observed)}",
            needs if needs > boots else None,
        )
    needs = boots_needed(margin, summary.spread, error)
    if needs <= boots:
        return f"near the threshold: more {observed}s may decide", None
    return _settling(needs, decision, "decide", observed), needs


def _settling(needs: int, decision: Decision, what: str, observed: str, least: int = 0) -> str:
    """The number of boots or layouts that would decide, with its range from the uncertainty of the spread."""
    n, m = len(decision.used.base), len(decision.used.head)
    if needs <= min(n, m):
        return f"fresh {observed}s would {what}"
    low, high = needs_range(needs, n, m)
    if high <= CLOSE * low:
        return f"{count_noun(needs, observed)} per kernel would {what}"
    return (
        f"about {count_noun(needs, observed)} per kernel would {what} ({max(low, least, min(n, m) + 1)} to"
        f" {high})"
    )


def _steps(
    judged: Comparison,
    row: Row,
    decision: Decision,
    spread: float,
    drift: BetweenSides | None,
    setting: _Setting,
) -> tuple[str, ...]:
    stages = setting.stages
    boots = f"{count_noun(judged.n_base, row.observed)} of base, {judged.n_head} of head"
    steps = [f"noisy values, one a {row.observed}: {boots}; spread {spread:.2%}"]
    parts = components(row.base.readings)
    if parts is not None:
        steps.append(
            f"of which between boots {parts.boot:.2%}, within a boot {parts.within:.2%} a reading (intraclass"
            f" correlation {parts.correlation:.2f}); more than {parts.worth} readings a boot add nothing"
        )
    if stages is not None:
        way = {1: "a candidate, upward", -1: "a candidate, downward", 0: "no candidate"}[decision.direction]
        steps.append(
            f"screen of {stages.screen} boots at {stages.screen_alpha:.0%} a row: {way};"
            f" {count_noun(decision.looks, 'look')} made"
        )
    how = "in pairs of a block (signed ranks)" if decision.in_pairs else "as two samples (rank sums)"
    if drift is not None:
        steps.append(drift.words())
    steps.append(
        f"compared {how}: change {judged.change:+.3%}, {judged.interval_level:.0%} interval"
        f" {_interval(judged)}"
    )
    steps.append(
        f"p = {judged.p:.3g}; of {count_noun(setting.family, 'row')} together q = {judged.q:.3g} against"
        f" {setting.error.of_report:.0%}"
    )
    steps.append(f"threshold {100 * setting.threshold:.4g}%: {judged.verdict}, {judged.reason}")
    return tuple(steps)


def _interval(judged: Comparison) -> str:
    if judged.ci_low is None or judged.ci_high is None:
        return "not to be had from so few boots"
    return f"{judged.ci_low:+.3%} .. {judged.ci_high:+.3%}"
