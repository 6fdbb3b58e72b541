"""docs/calibration.md, from what was measured."""

from collections.abc import Sequence

from calibrate.figures import Figure
from cliffwatch.comparing.comparison import METHOD_VERSION

_HEAD = """# Calibration

How often the method (version {version}) is wrong, and how much it detects, on noise whose truth is known. Made by `make calibrate` ({minutes:.0f} minutes
on two cores); every draw comes from a seed, so that the same command gives the same figures. [method.md](method.md) says
what the method is.

- Families have 200 metrics with a spread of 2 % between boots: independent, correlated (half of the variance belongs to the boot), or
  mixed (Gaussian, log-normal, bimodal, spikes). Notable is 1 %.
- Sweeps have 9 to 12 points, each parameter 1.3 to 3 times the one before; noise is that of a boot, where points have boots. A break is placed right
  where its interval contains the parameter of the bend, or both neighbours of the jump, and nothing else is named.
- Neighbours get the same draws; their figures are there to compare.
{nights}
"""

_NIGHTS = """- Real nights are those of one dedicated host of Sandmark (OCaml benchmarks, MIT licence) at fixed commits: nothing changed. They
  also helped to choose the clip, the guard and the threshold of the step detector, so its figures on them flatter it; another host's
  nights would be a fairer judge, and are not to be had here.
"""
_NO_NIGHTS = "- The real nights were not to hand: their figures are missing.\n"


def page(figures: Sequence[Figure], *, minutes: float, nights: bool) -> str:
    ours = [figure for figure in figures if figure.met is not None]
    missed = [figure for figure in ours if not figure.met]
    lines = [_HEAD.format(version=METHOD_VERSION, minutes=minutes, nights=_NIGHTS if nights else _NO_NIGHTS)]
    lines += [f"Of {len(ours)} figures with a bar, {len(ours) - len(missed)} meet it, {len(missed)} miss it.", ""]
    for bar in dict.fromkeys(figure.bar for figure in figures):
        lines += [f"## {bar}", "", "| what | method | measured | wanted | |", "|---|---|---|---|---|"]
        for figure in figures:
            if figure.bar == bar:
                mark = {True: "met", False: "**missed**", None: ""}[figure.met]
                lines.append(f"| {figure.what} | {figure.method} | {figure.measured} | {figure.wanted} | {mark} |")
        lines.append("")
    return "\n".join(lines)
