"""B1 and B3 on real noise: nights of one host at a fixed commit, dealt out anew as boots of two arms."""

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np

from calibrate.figures import Figure, share
from calibrate.noise import Values
from cliffwatch.stats.boot_values import boot_values
from cliffwatch.stats.deciding import StagedValues, decide_fixed, decide_staged
from cliffwatch.stats.ranks import two_samples
from cliffwatch.stats.stages import Look, Stages

MARGIN = 0.01
ARM = 29
STAGES = Stages(screen=10, screen_alpha=0.1, looks=(Look(boots=19, alpha=0.01),))
"""Of the same 29 boots an arm, ten to screen: the nights are too few for more."""


def _dealt(nights: Values, seed: int, size: float) -> tuple[Values, Values]:
    """Arms of 29 nights: neighbours are pairs, a coin says which is whose; (metrics, 29). The first metric is
    shifted.
    """
    generator = np.random.default_rng(seed)
    pairs = generator.permutation(nights.shape[1] // 2)[:ARM]
    coin = generator.integers(0, 2, size=len(pairs))
    base, head = nights[:, 2 * pairs + coin].copy(), nights[:, 2 * pairs + 1 - coin].copy()
    metric = int(generator.integers(0, len(nights)))
    order = np.r_[metric, [row for row in range(len(nights)) if row != metric]]
    base, head = base[order], head[order]
    head[0] += np.log1p(size)
    return base, head


def _outcomes(seed: int, nights: Values, size: float) -> dict[str, tuple[bool, bool]]:
    """By each method: whether an unshifted metric is published, and whether the shifted one is."""
    base, head = _dealt(nights, seed, size)
    fixed = decide_fixed(
        [boot_values(*row) for row in zip(base, head, strict=True)], margin=MARGIN, alpha=0.01
    )
    cut = STAGES.screen
    rows = [
        StagedValues(
            screened=boot_values(ours[:cut], theirs[:cut]), confirming=boot_values(ours[cut:], theirs[cut:])
        )
        for ours, theirs in zip(base, head, strict=True)
    ]
    staged = decide_staged(rows, STAGES, margin=MARGIN)
    flagged = {
        "ours, 29 boots in one stage": np.array([each.outcome == "changed" for each in fixed]),
        "ours, 10 then 19 boots": np.array([each.outcome == "changed" for each in staged]),
        "rank test at 5 %, as benchstat": two_samples(base, head).p() <= 0.05,
    }
    return {
        name: (bool(flags[1:].any() or (size == 0 and flags[0])), bool(flags[0]))
        for name, flags in flagged.items()
    }


def real_figures(hosts: dict[str, Values], repeats: int, pool: ProcessPoolExecutor) -> Iterator[Figure]:
    """`hosts` holds logs of nights, (benchmarks, nights), by host period."""
    for host, nights in hosts.items():
        for size, wanted in ((0.0, None), (0.02, 0.90), (0.03, 0.95)):
            outcomes = list(
                pool.map(partial(_outcomes, nights=nights, size=size), range(repeats), chunksize=20)
            )
            for name in outcomes[0]:
                wrong, detected = (sum(each[name][part] for each in outcomes) for part in (0, 1))
                ours = name.startswith("ours")
                what = f"real nights, {host}, {len(nights)} metrics: "
                if wanted is None:
                    yield Figure(
                        bar="B1",
                        what=what + "anything published of nothing",
                        method=name,
                        measured=share(wrong, repeats),
                        wanted="at most 1 %" if ours else "",
                        met=wrong <= 0.01 * repeats if ours else None,
                    )
                else:
                    yield Figure(
                        bar="B3",
                        what=what + f"a shift of {size:.0%} in one of them detected",
                        method=name,
                        measured=share(detected, repeats),
                        wanted=f"at least {wanted:.0%}" if ours else "",
                        met=detected >= wanted * repeats if ours else None,
                    )
