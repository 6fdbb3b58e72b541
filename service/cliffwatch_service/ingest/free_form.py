"""Checks documents without a fixed form before they are stored: depth, numbers, text and dates.

A document that passes can be stored as JSON, read back and shown. `make_showable` makes documents fit for
showing that were stored before this check existed.
"""

import math
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import AfterValidator, AwareDatetime

from cliffwatch.formats.values import FreeJson
from cliffwatch.parsers.readings import Problem
from cliffwatch_service.refusal import Refusal

DEEPEST = 40
"""Most levels of lists and objects in a document."""

LARGEST_NUMBER = 2**63 - 1
LONGEST_TEXT = 1 << 20
LONGEST_NAME = 1000
"""Longest name of an object's member."""

FIRST, LAST = datetime(1970, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)
"""Everything was written or measured between these times."""

LEFT_OUT = "(left out: nested too deep)"

_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_CONTROL = re.compile("[\x01-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_REPLACED = "\N{REPLACEMENT CHARACTER}"


def refuse_odd(document: Any, where: str = "") -> None:
    """Raises Refusal if a document is nested too deep, or holds an invalid number or text.

    Does not recurse: the document may be hostile.
    """
    for path, value, depth in _walk(document, where):
        problem = _find_problem(path[:200] or "the document", value, depth)
        if problem is not None:
            errors = [(problem.member, problem.reason)]
            raise Refusal(422, "invalid request", str(problem), errors=errors)


def _walk(document: Any, where: str) -> Iterator[tuple[str, Any, int]]:
    left: list[tuple[str, Any, int]] = [(where, document, 1)]
    while left:
        path, value, depth = left.pop()
        yield path, value, depth
        if isinstance(value, dict):
            left += [(f"{path}.{name}"[:300].lstrip("."), each, depth + 1) for name, each in value.items()]
        elif isinstance(value, list) and not _plain_numbers(value):
            left += [
                (f"{path}.{index}"[:300].lstrip("."), each, depth + 1) for index, each in enumerate(value)
            ]


def _plain_numbers(values: list[Any]) -> bool:
    """Whether a list holds storable numbers only. A boot may have millions, too many to walk one by one."""
    if not values or not set(map(type, values)) <= {int, float}:
        return False
    try:
        return (
            all(map(math.isfinite, values))
            and min(values) >= -LARGEST_NUMBER
            and max(values) <= LARGEST_NUMBER
        )
    except OverflowError:
        return False


def _find_problem(path: str, value: Any, depth: int) -> Problem | None:
    """Checks a value by itself, without those in it."""
    return next((Problem(member=path, reason=reason) for reason in _faults(value, depth)), None)


def _faults(value: Any, depth: int) -> Iterator[str]:
    """Yields what is wrong with a value, and what to do."""
    match value:
        case str():
            yield from _faults_of_text(value, LONGEST_TEXT)
        case int() if abs(value) > LARGEST_NUMBER:
            yield "a whole number has at most 63 bits: send a larger one as text"
        case float() if not math.isfinite(value):
            yield "not a finite number: send null instead"
        case dict():
            for name in value:
                yield from _faults_of_text(name, LONGEST_NAME)
    if isinstance(value, dict | list) and depth > DEEPEST:
        yield f"nested deeper than {DEEPEST} levels: send it flatter"


def _faults_of_text(text: str, longest: int) -> Iterator[str]:
    if len(text) > longest:
        yield f"longer than {longest} characters: send only its beginning"
    if _UNSTORABLE.search(text):
        yield "a NUL or half of a surrogate pair in a text: leave it out"


def plain_text(text: str) -> str:
    """Replaces the control characters of a text, which a terminal would obey. Keeps tabs and line ends."""
    return _CONTROL.sub(_REPLACED, text)


def replace_control_characters(document: Any) -> Any:
    """Makes all texts plain in a document that passed `refuse_odd`."""
    if isinstance(document, str):
        return plain_text(document) if _CONTROL.search(document) else document
    if isinstance(document, dict):
        return {plain_text(name): replace_control_characters(value) for name, value in document.items()}
    if isinstance(document, list):
        return (
            document
            if _plain_numbers(document)
            else [replace_control_characters(value) for value in document]
        )
    return document


def make_showable(document: Any, depth: int = 1) -> Any:
    """Makes any stored document fit for showing: parts nested too deep go, odd values become text."""
    if isinstance(document, dict | list) and depth > DEEPEST:
        return LEFT_OUT
    if isinstance(document, dict):
        return {name: make_showable(value, depth + 1) for name, value in document.items()}
    if isinstance(document, list):
        return [make_showable(value, depth + 1) for value in document]
    return document if _find_problem("", document, depth) is None else str(document)[:LONGEST_NAME]


def free_form(document: FreeJson) -> FreeJson:
    """Pydantic validator: makes a document without a fixed form fit for storing. Raises ValueError."""
    try:
        refuse_odd(document)
    except Refusal as refusal:
        raise ValueError(refusal.detail) from None
    fit: FreeJson = replace_control_characters(document)
    return fit


def check_prose(text: str) -> str:
    """Pydantic validator: makes a text for people fit for storing. Raises ValueError."""
    if _UNSTORABLE.search(text):
        raise ValueError("a NUL or half of a surrogate pair in a text: leave it out")
    return plain_text(text)


FreeForm = Annotated[FreeJson, AfterValidator(free_form)]
Prose = Annotated[str, AfterValidator(check_prose)]
"""Text that people or programs write for people to read."""


def in_time(moment: datetime) -> datetime:
    """Pydantic validator: accepts times that a clock could show. Raises ValueError."""
    if not FIRST <= moment < LAST:
        raise ValueError(f"not between {FIRST.year} and {LAST.year}: set the sender's clock")
    return moment


Moment = Annotated[AwareDatetime, AfterValidator(in_time)]


def plausible_date(moment: datetime | None) -> datetime | None:
    """Returns a commit's date, or None if it is implausible: a commit may claim any date."""
    return moment if moment is not None and FIRST <= moment < LAST else None
