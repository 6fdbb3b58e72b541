"""The benchmarks that a tree offers, as its own `bench -l` lists them, compared with the catalogue."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from cliffwatch.catalogue.load import Catalogue
from cliffwatch.catalogue.suite import EMPTIED, Benchmark, CaseSpec, IcountTraits, Length, Release, Suite
from cliffwatch.samples import PROFILES

ALL = "all"
"""Names every suite of the catalogue."""

AUTO = "auto"
"""Names the suites whose cases execute code that head changes."""

DISCOVERED = "discovered"
"""The suite of benchmarks that a tree offers but the catalogue does not know."""

NO_CASE_RUNS = "no case of the chosen suites can run on this tree"
"""First words of the failure of a run without a case."""

_LISTED = re.compile(r"\s*-\s+(?P<name>[A-Za-z0-9][A-Za-z0-9_.-]{0,99})\s*")
_RELEASE = re.compile(r"^v?(\d+)\.(\d+)")
_DISCOVERED_DEADLINE = 60


@dataclass(frozen=True, slots=True)
class Unsupported:
    """The tree is older than the benchmark or newer than its end. That is no fault of the tree."""

    reason: str


@dataclass(frozen=True, slots=True)
class Missing:
    """The tree should have the benchmark but does not."""

    reason: str


@dataclass(frozen=True, slots=True)
class Supported:
    """The tree has the benchmark."""


def parse_list(text: str) -> tuple[str, ...]:
    """The names that `bench -l` prints, in order, without duplicates. Never fails."""
    names = (match["name"] for line in text.splitlines() if (match := _LISTED.fullmatch(line)))
    return tuple(dict.fromkeys(names))


def parse_release(text: str) -> Release | None:
    """(6, 12) from "6.12.117", "v6.12-rc3" or "6.12"; None for other texts."""
    match = _RELEASE.match(text.strip())
    return (int(match[1]), int(match[2])) if match else None


def check_support(
    benchmark: Benchmark, offered: frozenset[str], release: Release, other_names: frozenset[str] = frozenset()
) -> Supported | Unsupported | Missing:
    """Decides if a tree of `release` that offers `offered` can run a benchmark.

    `other_names` are the benchmark's names in other trees. A tree may lack a benchmark only below the release
    that introduced it. Otherwise a branch that drops it by accident would pass as an old tree.
    """
    if benchmark.until is not None and release >= benchmark.until:
        return Unsupported(f"until {_release_text(benchmark.until)}: {benchmark.until_reason}")
    if benchmark.offered_as in offered:
        return Supported()
    other = next(iter(sorted(other_names & offered)), None)
    if other is not None:
        return Unsupported(f"bench of this tree calls it {other}")
    return _explain_lack(benchmark, release)


def _explain_lack(benchmark: Benchmark, release: Release) -> Unsupported | Missing:
    """The answer for a tree that offers the benchmark under no name."""
    if benchmark.loop_of:
        return Unsupported(f"the lookups of {benchmark.loop_of} cannot be taken out in this tree")
    since = f"{'about ' if benchmark.since_uncertain else ''}{_release_text(benchmark.since)}"
    if release < benchmark.since:
        return Unsupported(f"came with linux {since}")
    if benchmark.since_uncertain and release == benchmark.since:
        return Unsupported(
            f"came with linux {since}, and this tree of {_release_text(release)} has it not yet"
        )
    return Missing(f"bench of this tree does not list it, although it came with linux {since}")


def _release_text(release: Release) -> str:
    return f"{release[0]}.{release[1]}"


def discovered_suite(offered: Sequence[str], catalogue: Catalogue, args: Sequence[str] = ()) -> Suite:
    """A suite of the benchmarks that only this tree has.

    Each runs with its defaults or with `args`. The form of its lines decides how they are parsed.
    """
    unknown = [name for name in offered if catalogue.benchmark(name) is None and not name.startswith(EMPTIED)]
    return Suite(
        name=DISCOVERED,
        title="Benchmarks of this tree that the catalogue does not know",
        about="Found with bench -l. Nothing is known of their parameters, units or repeatability.",
        config=(),
        metrics={},
        lengths={
            "smoke": Length(warmup=1, duration=1),
            "standard": Length(warmup=1, duration=2),
            "full": Length(warmup=1, duration=5),
        },
        benchmarks=tuple(_discovered_benchmark(name, args) for name in unknown),
        source_file=None,
    )


def _discovered_benchmark(name: str, args: Sequence[str]) -> Benchmark:
    params = (("args", shlex.join(args)),) if args else ()
    case = CaseSpec(params=params, argv=(*args, name), profiles=PROFILES, memory_mib=1024, min_cpus=1)
    return Benchmark(
        name=name,
        kind=None,
        about="found in the tree",
        since=(0, 0),
        since_uncertain=True,
        until=None,
        until_reason="",
        deadline=_DISCOVERED_DEADLINE,
        primary=None,
        icount=IcountTraits(assume="nothing", repeatability=0.0),
        cases=(case,),
    )
