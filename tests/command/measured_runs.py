"""Result directories with made-up samples."""

from dataclasses import replace

import numpy as np
from arms import CONTROL, INT_GET, SEQ_GET, arm

from cliffwatch.samples import Arm, Boot, Mode
from cliffwatch.stats.stages import Look, Stages

ENVIRONMENT = {
    "config": "abea2d6b9145",
    "compiler": "gcc 12.2.0",
    "bench": "1af2ff43",
    "guest": '{"cpus": 1, "pin": []}',
}


FACTS = {"subject": "bpf: Ünïted (v2)", "release": "6.12.1", "config": "abea2d6b9145"}


def boots(seed: int, centre: float, count: int = 12) -> list[float]:
    return [
        round(float(each), 3) for each in centre * np.exp(np.random.default_rng(seed).normal(0, 0.003, count))
    ]


def measured(name: str, mode: Mode, seed: int, slower: float = 1.0) -> Arm:
    """An arm as a run has it: with facts, surroundings, two stages, digits and readings."""
    values = {SEQ_GET: boots(seed, 30 * slower), INT_GET: boots(seed + 1, 25), CONTROL: boots(seed + 2, 67)}
    plain = arm(name, values, mode=mode, resolution=0.001)

    def of_run(boot: Boot) -> Boot:
        readings = [each._replace(readings=(each.value * 0.999, each.value * 1.001)) for each in boot.samples]
        stage = "screen" if boot.index <= 6 else "confirm"
        number = 2 * boot.index - (name == "base")
        return replace(
            boot,
            index=number,
            block=boot.block,
            samples=tuple(readings),
            stage=stage,
            layout=f"L {name} {boot.index}",
        )

    facts = {**FACTS, "commit": ("ab" if name == "head" else "cd") * 20}
    return replace(plain, boots=tuple(map(of_run, plain.boots)), facts=facts, environment=ENVIRONMENT)


STAGES = Stages(screen=6, screen_alpha=0.1, looks=(Look(boots=6, alpha=0.01),))
