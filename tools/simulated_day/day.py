"""What happens on a simulated day, drawn from a seed: who pushes what and when, who looks at what, and how
long jobs take.
"""

import bisect
import itertools
import random
from collections.abc import Sequence
from dataclasses import dataclass

DAY = 86_400.0

BY_HOUR = (2, 2, 2, 2, 2, 3, 5, 7, 9, 10, 10, 9, 7, 9, 10, 10, 9, 8, 6, 5, 4, 3, 3, 2)
"""Weights of the hours: a working day with two peaks, and the rest of the world at night."""

ICOUNT = ("emulated-x86-64", "icount")
WALLTIME = (("amd-rome", "walltime"), ("intel-skylake", "walltime"))
ICOUNT_HOSTS = 0.5
"""Of the hosts; the others are of the two walltime platforms, in halves."""

WALLTIME_PUSHES = 0.2
"""Pushes that are measured in walltime on both platforms besides icount."""

FOLLOWED_PUSHES = 0.25
"""Pushes to the followed branch, whose results are history; the others are of developers' branches."""

SLOWER_PUSHES = 0.02
"""Pushes whose head is slower in one case."""

CASES = 40
BOOTS = {"icount": 2, "walltime": 6}
"""Of each arm: two counted ones are exact; `auto` in walltime goes on from five until all is decided."""

BOOT_SECONDS = 100.0
BUILD_SECONDS = (180.0, 900.0)

VIEWS_EACH = 4
"""Pages that people look at for each push, and as many questions of programs that wait for it."""

PAGES = (
    "home",
    "compare",
    "compare",
    "compare",
    "run",
    "series",
    "history",
    "regressions",
    "jobs",
    "comparison",
)


@dataclass(frozen=True, slots=True)
class Push:
    """A push at a second of the day. `number` counts those of the followed branch, or the others."""

    second: float
    number: int
    followed: bool
    targets: tuple[tuple[str, str], ...]

    @property
    def commits(self) -> tuple[str, str]:
        """Base and head of a developer's branch; those of the followed branch are git's."""
        return f"d{2 * self.number:039x}", f"d{2 * self.number + 1:039x}"


@dataclass(frozen=True, slots=True)
class View:
    """Somebody looks at a kind of page, or a program asks for the state of a push."""

    second: float
    kind: str


def moments(drawn: random.Random, count: int) -> list[float]:
    """So many seconds of the day, in order, as dense as its hours are heavy."""
    heaps = list(itertools.accumulate(BY_HOUR))
    hours = [bisect.bisect(heaps, drawn.random() * heaps[-1]) for _ in range(count)]
    return sorted(3600 * (hour + drawn.random()) for hour in hours)


def pushes(seed: int, count: int) -> list[Push]:
    drawn = random.Random(f"pushes {seed}")
    numbers = {True: itertools.count(), False: itertools.count()}
    made = []
    for second in moments(drawn, count):
        followed = drawn.random() < FOLLOWED_PUSHES
        targets = (ICOUNT, *WALLTIME) if drawn.random() < WALLTIME_PUSHES else (ICOUNT,)
        made.append(Push(second, next(numbers[followed]), followed, targets))
    return made


def views(seed: int, count: int) -> list[View]:
    drawn = random.Random(f"views {seed}")
    kinds = [*(drawn.choice(PAGES) for _ in range(count * VIEWS_EACH)), *["request"] * (count * VIEWS_EACH)]
    drawn.shuffle(kinds)
    return [View(second, kind) for second, kind in zip(moments(drawn, len(kinds)), kinds, strict=True)]


def hosts(count: int) -> list[tuple[str, str, str]]:
    """Name, platform and mode of each host."""
    counted = max(1, round(count * ICOUNT_HOSTS))
    targets = [ICOUNT if number < counted else WALLTIME[number % 2] for number in range(count)]
    return [(f"{platform}-{number}", platform, mode) for number, (platform, mode) in enumerate(targets)]


def boots_planned(made: Sequence[Push]) -> int:
    return sum(2 * BOOTS[mode] for push in made for _, mode in push.targets)


def samples_a_day(jobs: float, boots: float, cases: float) -> float:
    """The formula of docs/scaling.md: jobs of a day, boots of both arms in a job, cases in a boot."""
    return jobs * boots * cases
