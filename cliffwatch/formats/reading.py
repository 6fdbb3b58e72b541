"""Reads documents as their types. What is wrong comes back with its place, in words for whoever wrote the document."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

T = TypeVar("T")

_AT = re.compile(r"(?P<message>.*?) - at `\$?(?P<path>.*)`", re.DOTALL)
_INDEX = re.compile(r"\[(\d+)\]")
_ODD = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


@dataclass(frozen=True, slots=True)
class Wrong:
    """What is wrong with a document and where: `plan.boots.0.index`, empty for the document as a whole."""

    where: str
    message: str

    def __str__(self) -> str:
        return f"{self.where}: {self.message}" if self.where else self.message


Place = tuple[str | int, ...]
"""Names of members and positions in lists, from the document down: ("benchmark", 2, "icount", "assume")."""


class Fault(NamedTuple):
    """One of all things that are wrong with a document (`faults`), in a sentence that names the member."""

    place: Place
    message: str


def read_json(content: bytes) -> Any | Wrong:
    """What a text of JSON holds, unchecked; numbers that are none, such as NaN, are refused."""
    try:
        return msgspec.json.decode(content)
    except _ODD as error:
        return Wrong("", str(error))


def read_as(content: bytes, kind: type[T]) -> T | Wrong:
    """A document of a type from its text."""
    try:
        return msgspec.json.decode(content, type=kind)
    except _ODD as error:
        return wrong(error)


def converted(content: Any, kind: type[T]) -> T | Wrong:
    """A document of a type from what `read_json` gives, or a TOML file; texts are paths where the type says so."""
    try:
        return msgspec.convert(content, kind, dec_hook=_path)
    except _ODD as error:
        return wrong(error)


def _path(kind: type[Any], content: object) -> Any:
    if kind is Path and isinstance(content, str):
        return Path(content)
    raise NotImplementedError(f"{kind} is read from no document")


def wrong(error: Exception) -> Wrong:
    """Msgspec writes the place behind the message: `Expected `int`, got `str` - at `$.plan.boots[0].index``."""
    match = _AT.fullmatch(str(error))
    if match is None:
        return Wrong("", str(error).replace("`", ""))
    path = _INDEX.sub(r".\1", match["path"]).replace("[...]", "").strip(".")
    return Wrong(path, match["message"].replace("`", ""))


def written(document: msgspec.Struct) -> bytes:
    """The text of a document, indented for people."""
    return msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n"


def as_json(document: Any) -> Any:
    """A document, or a part of one, as what JSON holds."""
    return msgspec.to_builtins(document)
