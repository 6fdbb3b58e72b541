"""The kernel functions that cases execute, as earlier runs stored them in the cache."""

import gzip
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from cliffwatch.formats.code.executed import ExecutedCase, ExecutedRecord
from cliffwatch.formats.reading import document_text, read_as
from cliffwatch.parsers.readings import Problem
from cliffwatch.samples import CaseKey
from cliffwatch_runner.build.cache.entries import new_entry

_LARGEST_BYTES = 64 << 20
_FOLDER = "executed"
_FILE = "executed.json.gz"
_MOST_KEPT = 200
_MOST_LOOKED_AT = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Executed:
    """The kernel functions that cases execute."""

    source: str
    """Describes where the functions are known from."""
    cases: Mapping[CaseKey, frozenset[str]]
    """Functions by case."""
    start: frozenset[str]
    """Functions that every guest executes at its start."""
    kernels: frozenset[str]
    """Digests of the kernels whose functions were counted."""
    measured: Mapping[CaseKey, frozenset[str]] = field(default_factory=dict)
    """Functions on the measured path, by case."""


def load_executed(cache: Path, trust: str, key: str, kernel: str) -> Executed | None:
    """Returns the stored functions of a kernel; None if there are none or they cannot be read."""
    try:
        with gzip.open(_home(cache, trust) / key / _FILE) as file:
            record = read_as(file.read(_LARGEST_BYTES), ExecutedRecord)
    except (OSError, EOFError):
        return None
    if isinstance(record, Problem):
        return None
    return Executed(
        source="earlier runs of its kernel on this host",
        cases={case.case: _named(record, case.executed) for case in record.cases},
        start=_named(record, record.start),
        kernels=frozenset({kernel}),
        measured={case.case: _named(record, case.measured) for case in record.cases},
    )


def measured_by_case(cache: Path, trust: str) -> Mapping[CaseKey, frozenset[str]]:
    """Returns the functions on the measured path of each case, whatever the kernel.

    They come from the newest runs of this trust on this host.
    """
    home = _home(cache, trust)
    found: dict[CaseKey, frozenset[str]] = {}
    for folder in sorted(home.iterdir(), key=_age, reverse=True)[:_MOST_LOOKED_AT] if home.is_dir() else ():
        kept = load_executed(cache, trust, folder.name, "")
        for case, names in kept.measured.items() if kept is not None else ():
            if names:
                found[case] = found.get(case, frozenset()) | names
    return found


def _named(record: ExecutedRecord, places: Iterable[int]) -> frozenset[str]:
    return frozenset(record.functions[place] for place in places if place < len(record.functions))


def keep_executed(cache: Path, trust: str, key: str, executed: Executed) -> None:
    """Stores the functions for later runs and removes the oldest records. Raises OSError."""
    names = sorted(executed.start.union(*executed.cases.values()))
    places = {name: place for place, name in enumerate(names)}
    record = ExecutedRecord(
        functions=tuple(names),
        start=_places(executed.start, places),
        cases=tuple(
            ExecutedCase(
                suite=case.suite,
                benchmark=case.benchmark,
                params=dict(case.params),
                executed=_places(functions, places),
                measured=_places(executed.measured.get(case, frozenset()) & functions, places),
            )
            for case, functions in executed.cases.items()
        ),
    )
    home = _home(cache, trust)
    with new_entry(home / key) as entry:
        (entry / _FILE).write_bytes(gzip.compress(document_text(record), mtime=0))
    kept = sorted((each for each in home.iterdir() if not each.name.startswith(".")), key=_age, reverse=True)
    for old in kept[_MOST_KEPT:]:
        with suppress(OSError):
            (old / _FILE).unlink(missing_ok=True)
            old.rmdir()


def _age(folder: Path) -> float:
    with suppress(OSError):
        return folder.stat().st_mtime
    return 0.0


def _home(cache: Path, trust: str) -> Path:
    """Separates trusts: results of one trust are not used for another."""
    return cache / _FOLDER / trust


def _places(names: Iterable[str], places: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(sorted(places[name] for name in names))


def join_executed(*of_runs: Executed) -> Executed:
    """Returns the union of what several runs executed. Names that no kernel has any more do no harm."""
    cases: dict[CaseKey, frozenset[str]] = {}
    measured: dict[CaseKey, frozenset[str]] = {}
    for each in of_runs:
        for into, of_cases in ((cases, each.cases), (measured, each.measured)):
            for case, names in of_cases.items():
                into[case] = into.get(case, frozenset()) | names
    return Executed(
        source=of_runs[0].source,
        cases=cases,
        start=frozenset().union(*(each.start for each in of_runs)),
        kernels=frozenset().union(*(each.kernels for each in of_runs)),
        measured=measured,
    )
