"""Collects all faults of a hand-written document. msgspec reports only the first."""

import difflib
from collections.abc import Iterator
from typing import Literal, TypeVar, get_args, get_origin

from msgspec import NODEFAULT, Meta, Struct
from msgspec.structs import FieldInfo, fields

from cliffwatch.catalogue.toml_lines import Place, problem_at_key
from cliffwatch.formats.reading import convert_to
from cliffwatch.parsers.readings import Problem

S = TypeVar("S", bound=Struct)

_WORDS = {"array": "list", "object": "table"}
_SCALARS = (str, int, float, bool)


def collect_faults(content: object, kind: type[S], refused: Problem) -> tuple[S, tuple[Problem, ...]]:
    """All faults of a document that `convert_to` refused, and the document without them.

    The document without faults allows checks between its parts. Incorrect or missing members get their
    default or an empty value.

    The type says what a member must be. The description of its `Meta` is a sentence for values that its
    pattern or bounds refuse ("it must be at least 1").
    """
    reader = _Reader()
    document = reader.table(content, kind, ())
    return document, tuple(reader.faults) or (Problem(reason=str(refused)),)


class _Reader:
    def __init__(self) -> None:
        self.faults: list[Problem] = []

    def table(self, content: object, kind: type[S], place: Place) -> S:
        known = {each.name: each for each in fields(kind)}
        if not isinstance(content, dict):
            self.faults.append(
                problem_at_key(place, f"'{_name(place)}' must be a table with {', '.join(known)}")
            )
            return _empty_table(kind)
        self.faults += (
            problem_at_key((*place, name), _unknown(name, list(known)))
            for name in content
            if name not in known
        )
        members = {name: self._member(content, each, place) for name, each in known.items()}
        return kind(**members)

    def _member(self, table: dict[str, object], member: FieldInfo, place: Place) -> object:
        if member.name in table:
            return self._value(table[member.name], member.type, (*place, member.name), _stand_in(member))
        if member.required:
            self.faults.append(problem_at_key(place, f"'{member.name}' is missing"))
        return _stand_in(member)

    def _value(self, content: object, kind: object, place: Place, stand_in: object) -> object:
        if isinstance(kind, type) and issubclass(kind, Struct):
            return self.table(content, kind, place)
        if get_origin(kind) is list and isinstance(content, list):
            (entry,) = get_args(kind)
            return [
                self._value(each, entry, (*place, index), _empty(entry)) for index, each in enumerate(content)
            ]
        if get_origin(kind) is dict and isinstance(content, dict):
            _, entry = get_args(kind)
            return {
                name: self._value(each, entry, (*place, name), _empty(entry))
                for name, each in content.items()
            }
        read = convert_to(content, kind)  # type: ignore[arg-type]  # a union or an annotated type is no `type`
        if isinstance(read, Problem):
            self.faults.append(
                problem_at_key(place, _sentence(_name(place), content, kind, read.reason.replace("`", "")))
            )
            return stand_in
        return read


def _name(place: Place) -> str:
    return next((each for each in reversed(place) if isinstance(each, str)), "")


def _unknown(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f"unknown key '{name}'" + (
        f"; did you mean '{near[0]}'?" if near else f"; known here: {', '.join(known)}"
    )


def _sentence(name: str, content: object, kind: object, message: str) -> str:
    wanted, is_other_type, got = message.removeprefix("Expected ").partition(", got ")
    if is_other_type:
        words = [_WORDS.get(each, each) for each in wanted.split(" | ") if each != "null"]
        return f"'{name}' must be a {' or '.join(words)}, not {_WORDS.get(got, got)}"
    for part in _parts(kind):
        if get_origin(part) is Literal:
            return f"'{name}' is {content!r}; it must be one of: {', '.join(map(str, get_args(part)))}"
        if isinstance(part, Meta) and part.description:
            return f"'{name}' is {content!r}; {part.description}"
    return f"'{name}': {message}"


def _parts(kind: object) -> Iterator[object]:
    """Yields a type and its parts: the members of a union, the `Meta` of an annotated type."""
    yield kind
    if get_origin(kind) is not Literal:
        for each in get_args(kind):
            yield from _parts(each)


def _stand_in(member: FieldInfo) -> object:
    if member.default is not NODEFAULT:
        return member.default
    return _empty(member.type) if member.default_factory is NODEFAULT else member.default_factory()


def _empty(kind: object) -> object:
    origin = get_origin(kind)
    if origin in (list, dict):
        return origin()
    if isinstance(kind, type) and issubclass(kind, Struct):
        return _empty_table(kind)
    return next((each() for each in _SCALARS if each in _parts(kind)), "")


def _empty_table(kind: type[S]) -> S:
    return kind(**{member.name: _stand_in(member) for member in fields(kind)})
