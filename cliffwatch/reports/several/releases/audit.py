"""The audit of releases: one row per metric of a case, a value per release, a comparison per step."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from cliffwatch.comparing.attribution.changes import CaseFunctions
from cliffwatch.comparing.comparison import CHANGES
from cliffwatch.formats.comparison import ComparisonRow
from cliffwatch.formats.verdicts import Sweep
from cliffwatch.samples import CaseKey

_VERIFIED = "insns"
_OF_VERIFIER = frozenset({_VERIFIED, "states", "bytes"})
"""Units of the verifier's work on a program, and of the program's size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """A release and its kernel."""

    name: str
    version: str
    commit: str
    sections: Mapping[str, int]
    """Bytes of the sections of its image, by name; empty if no run recorded them."""
    config_notes: tuple[str, ...]
    """What its configuration lacks or has otherwise than was asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """The value of a row in one release."""

    value: float | None
    """In the row's unit, median over the boots."""
    reason: str = ""
    """Why there is no value; empty if there is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A release compared with the one before it."""

    earlier: str
    later: str
    row: ComparisonRow
    functions: CaseFunctions | None
    """The functions behind the change; None if instructions were not counted by function."""

    @property
    def has_both_values(self) -> bool:
        return self.row.base is not None and self.row.head is not None

    @property
    def size(self) -> float:
        """Size of the change, a fraction; 0 if no change is reported."""
        return abs(self.row.change or 0.0) if self.row.verdict in CHANGES else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRow:
    """A metric of a case in all releases."""

    case: CaseKey
    metric: str
    unit: str
    bench: str | None
    """The release whose bench measured all values. None if each release ran its own: then nothing says
    whether kernel or bench changed, and nothing is compared."""
    cells: tuple[Cell, ...]
    """One per release."""
    steps: tuple[Step | None, ...]
    """One per release but the first; None if there is nothing to compare."""

    @property
    def is_verification(self) -> bool:
        """True for the verifier's work on a program, and for the program's size."""
        return self.unit in _OF_VERIFIER

    @property
    def largest(self) -> Step | None:
        """The step that changed most; None if none is reported as a change."""
        changed = [step for step in self.steps if step is not None and step.size]
        return max(changed, key=lambda step: step.size, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteAudit:
    """A suite in all releases."""

    name: str
    rows: tuple[AuditRow, ...]
    """Those with the largest changes first."""
    empty_cases: tuple[tuple[CaseKey, tuple[Cell, ...]], ...]
    """Cases without a value in any release, with the reason in each."""
    sweeps: tuple[tuple[str, str, Sweep], ...]
    """Curves whose course or break changed: earlier release, later release, curve."""
    notes: tuple[str, ...]
    """Why rows or releases are missing."""
    seconds: float
    """Time of its runs, builds included."""

    def changed_rows(self) -> tuple[AuditRow, ...]:
        return tuple(row for row in self.rows if row.largest is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """Everything that the report on releases says."""

    releases: tuple[Release, ...]
    """In order of version."""
    suites: tuple[SuiteAudit, ...]
    profile: str
    created: str
    """When the first run began, ISO 8601."""
    setting: tuple[str, ...]
    """Short facts on compilers, guest and Cliffwatch."""
    notes: tuple[str, ...]
    """Sentences on the whole."""

    @property
    def seconds(self) -> float:
        return sum(suite.seconds for suite in self.suites)

    def largest_steps(self, verdict: str) -> Sequence[tuple[AuditRow, Step]]:
        """The steps of costs with this verdict, largest first, without the verifier's work.

        One per benchmark, so that a sweep is told once.
        """
        found = [(row, step) for row, step in self._steps() if not row.is_verification]
        found.sort(key=lambda each: -each[1].size)
        kept: dict[tuple[str, str, str], tuple[AuditRow, Step]] = {}
        for row, step in found:
            if step.row.verdict == verdict:
                kept.setdefault((row.case.suite, row.case.benchmark, step.later), (row, step))
        return tuple(kept.values())

    def largest_verifications(self) -> Sequence[tuple[AuditRow, Step]]:
        """The steps of the verifier's instructions, by their number: a share of little says little."""
        found = [(row, step) for row, step in self._steps() if row.unit == _VERIFIED]
        found.sort(key=lambda each: -abs((each[1].row.head or 0.0) - (each[1].row.base or 0.0)))
        return tuple(found)

    def _steps(self) -> Iterator[tuple[AuditRow, Step]]:
        """Those that are reported as changes."""
        for suite in self.suites:
            for row in suite.rows:
                yield from ((row, step) for step in row.steps if step is not None and step.size)
