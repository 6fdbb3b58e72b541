"""Reads documents as their types. What is wrong comes back with its place, in words for whoever wrote the document."""

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

T = TypeVar("T")

_AT = re.compile(r"(?P<message>.*?) - at `\$?(?P<path>.*)`", re.DOTALL)
_INDEX = re.compile(r"\[(\d+)\]")
_ODD = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)

_prepared: set[Any] = set()
_preparing = threading.Lock()


class _Thread(threading.local):
    reads = False


_thread = _Thread()


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
        return decode(content, kind)
    except _ODD as error:
        return wrong(error)


def converted(content: Any, kind: type[T]) -> T | Wrong:
    """A document of a type from what `read_json` gives, or a TOML file; texts are paths where the type says so."""
    try:
        return convert(content, kind)
    except _ODD as error:
        return wrong(error)


def decode(content: bytes, kind: type[T]) -> T:
    """A document of a type from its text, of those that were checked before they were stored. Raises msgspec.MsgspecError."""
    with _reading(kind):
        return msgspec.json.decode(content, type=kind)


def convert(content: Any, kind: type[T]) -> T:
    """The same from what JSON holds. Raises msgspec.MsgspecError."""
    with _reading(kind):
        return msgspec.convert(content, kind, dec_hook=_path)


def is_reading() -> bool:
    """Whether this thread is making a document of what somebody wrote: what a program makes itself is not refused, but shown."""
    return _thread.reads


@contextmanager
def _reading(kind: type[Any]) -> Iterator[None]:
    """Msgspec (0.22) notes down how a struct is read when that is done first, and dies of a second thread that reads it meanwhile."""
    if kind not in _prepared:
        with _preparing:
            msgspec.json.Decoder(kind)
            _prepared.add(kind)
    _thread.reads = True
    try:
        yield
    finally:
        _thread.reads = False


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
