"""Types of texts and numbers in documents, with their limits, and parts that several documents share."""

import re
from collections.abc import Callable, Iterable
from functools import cache
from operator import attrgetter
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta

from cliffwatch.formats.reading import is_reading
from cliffwatch.samples import CaseKey, CaseOutcome, CaseStatus

LARGEST_PLAN = 5000
"""The most cases of a run."""

MOST_BOOTS = 10_000
MOST_SAMPLES = 50_000
"""The most samples of a boot."""

MOST_READINGS = 100_000
MOST_ARMS = 16
"""The most arms of a run, including the control. Enough to sweep a knob of ten steps in one run."""

LINE = r"^[^\x00-\x1f\x7f-\x9f]+(?![\s\S])"
"""A pattern for one line without control characters, which a terminal might obey."""

Name = Annotated[str, Meta(min_length=1, max_length=200, pattern=LINE)]
"""The name of a suite, benchmark, parameter, metric, platform or host."""

CaseName = Annotated[str, Meta(min_length=1, max_length=200, extra_json_schema={"pattern": LINE})]
"""Like Name, for names that a boot contains thousands of times.

`refuse_lines` checks each distinct name only once.
"""

Text = Annotated[str, Meta(max_length=4000)]
LongText = Annotated[str, Meta(max_length=1 << 16)]
Digest = Annotated[str, Meta(pattern=r"^[0-9a-f]{8,64}(?![\s\S])")]
Commit = Annotated[str, Meta(pattern=r"^[0-9a-f]{40}(?:[0-9a-f]{24})?(?![\s\S])")]
Moment = Annotated[
    str,
    Meta(pattern=r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d", max_length=64, extra_json_schema={"format": "date-time"}),
]
"""A time with its offset, ISO 8601.

Kept exactly as written, because a run's identity is computed from its text.
"""

Date = Annotated[str, Meta(max_length=64)]
"""The date of a commit as git writes it. Authors can forge any date."""

Number = float
"""Always finite: JSON has no other numbers."""

Share = Annotated[float, Meta(ge=0, le=1)]
Count = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Position = Annotated[int, Meta(ge=1, le=MOST_BOOTS)]
"""The index of a boot in its plan, from 1."""

Params = Annotated[dict[CaseName, Annotated[str, Meta(max_length=200)]], Meta(max_length=32)]
Stage = Literal["screen", "confirm"]
Party = Literal["usage", "kernel", "host", ""]
"""The party that caused a failure; empty in documents of older versions."""

FreeJson = dict[str, Any]
"""Free-form JSON.

Facts that hosts, guests and tools report about themselves differ by machine and version.
"""


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a document.

    Members with a default may be absent, which means the default. All others are required.
    """


_LINE = re.compile(LINE)
_MOST_KNOWN = 20_000
_known: set[str] = set()


def refuse_lines(names: Iterable[str]) -> None:
    """Raises ValueError for a name that is not one line. Checks only while a document is decoded."""
    if not is_reading():
        return
    for name in names:
        if _LINE.match(name) is None:
            raise ValueError(f"a name is one line without control characters, not {name!r}")
        if len(_known) >= _MOST_KNOWN:
            _known.clear()
        _known.add(name)


def are_lines(*names: str) -> bool:
    """True if all names were checked before."""
    return _known.issuperset(names)


class OfCase(Part, frozen=True, kw_only=True):
    """The members that identify a case."""

    suite: CaseName
    benchmark: CaseName
    params: Params

    def __post_init__(self) -> None:
        if not (self.suite in _known and self.benchmark in _known and _known.issuperset(self.params)):
            refuse_lines((self.suite, self.benchmark, *self.params))

    @property
    def case(self) -> CaseKey:
        return CaseKey(self.suite, self.benchmark, tuple(self.params.items()))


class OutcomeRecord(OfCase, frozen=True, kw_only=True):
    """How a case ended. `reason` is empty if `status` is ok."""

    status: CaseStatus
    reason: Text

    @property
    def outcome(self) -> CaseOutcome:
        return CaseOutcome(case=self.case, status=self.status, reason=self.reason)


def outcome_record(outcome: CaseOutcome) -> OutcomeRecord:
    case = outcome.case
    return OutcomeRecord(
        suite=case.suite,
        benchmark=case.benchmark,
        params=dict(case.params),
        status=outcome.status,
        reason=outcome.reason,
    )


T = TypeVar("T")


def copy_fields(kind: type[T], source: object, **given: Any) -> T:
    """Makes a struct or dataclass from the fields of another that have the same names, and those given.

    They share two fields at least.
    """
    names, values_of = _shared_fields(kind, type(source))  # type: ignore[arg-type]
    return kind(**dict(zip(names, values_of(source), strict=True)) | given)


@cache
def _shared_fields(*kinds: Any) -> tuple[list[str], Callable[[object], Iterable[Any]]]:
    one, other = (getattr(kind, "__struct_fields__", None) or kind.__dataclass_fields__ for kind in kinds)
    names = [name for name in one if name in other]
    return names, attrgetter(*names)
