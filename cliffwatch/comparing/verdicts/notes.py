"""Notes on a noisy row, besides its verdict."""

import math

from cliffwatch.comparing.thresholds import WORTH_A_WORD
from cliffwatch.comparing.verdicts.digits import TWO_MODES
from cliffwatch.stats.noise.shapes import TwoModes
from cliffwatch.stats.published_size import PublishedSize
from cliffwatch.stats.summaries import Summary


def notes_of(summary: Summary, size: PublishedSize | None) -> tuple[str, ...]:
    notes = [] if size is None or not _shrunk(size) else [_selection_note(size)]
    if summary.modes is not None:
        notes.append(_two_modes(summary.modes))
    elif summary.noisier is not None:
        notes.append(_noisier(summary.noisier))
    return tuple(notes)


def _shrunk(size: PublishedSize) -> bool:
    return abs(size.measured) > (1 + WORTH_A_WORD) * abs(size.shift)


def _selection_note(size: PublishedSize) -> str:
    return (
        f"measured {math.expm1(size.measured):+.2%}: what just passes a test is less in truth, as change and"
        " interval allow for"
    )


def _noisier(ratio: float) -> str:
    more, less = ("head", "base") if ratio > 1 else ("base", "head")
    return f"{more} is {max(ratio, 1 / ratio):.1f} times as noisy as {less}"


def _two_modes(modes: TwoModes) -> str:
    apart = math.expm1(modes.slow - modes.fast)
    shares = f"{modes.base_share:.0%} of base's boots are slow, {modes.head_share:.0%} of head's"
    return f"{TWO_MODES}, {apart:.1%} apart: {shares} (p = {modes.p:.2g})"
