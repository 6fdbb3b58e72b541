"""Decodes documents into their types.

An error comes back with its place, in words for the document's author.
"""

import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from cliffwatch.parsers.readings import Problem
from cliffwatch.samples import BOOTS_CHOICES, BOOTS_PATTERN

T = TypeVar("T")

_AT = " - at `"
"""What msgspec writes between an error and its place."""

_INDEX = re.compile(r"\[(\d+)\]")
_ODD = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)

_WORDS: Mapping[str, str] = {
    r"^[^\x00-\x1f\x7f-\x9f]+": "one line without control characters",
    r"^[a-z][a-z+]*://[^\s]+": "a URL such as https://git.example.org/linux.git, without blanks",
    f"^{BOOTS_PATTERN}": BOOTS_CHOICES,
    r"^[a-z][a-z-]{0,40}": "a word of small letters and hyphens",
    r"^[0-9a-f]{40}(?:[0-9a-f]{24})?": "a whole commit: 40 or 64 digits, 0-9 and a-f",
    r"^[0-9a-f]{40}([0-9a-f]{24})?": "a whole commit: 40 or 64 digits, 0-9 and a-f",
    r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d": "a time such as 2026-01-31T12:00:00Z",
    r"^[A-Za-z0-9_][A-Za-z0-9_.+-]*(?:/[A-Za-z0-9_][A-Za-z0-9_.+-]*){0,7}": (
        "a path of at most 8 parts, of letters, digits, _ . + and -"
    ),
    r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}": (
        "a name of letters, digits, _ . and -, which begins with a letter or digit"
    ),
    r"^[a-z0-9][a-z0-9-]{0,63}": "the name of a suite: at most 64 small letters, digits and hyphens",
    r"^runs/[a-z0-9][A-Za-z0-9._-]{0,150}": "a folder of runs/, such as runs/local-storage",
    r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}": "a name of letters, digits, _ . and -",
    r"^[A-Za-z0-9][A-Za-z0-9._-]{0,39}": "a name of at most 40 letters, digits, . _ and -",
    r"^[A-Za-z0-9][A-Za-z0-9_.:+=-]{0,99}": "a word of letters, digits and _ . : + = -",
    r"^[\x21-\x7e]+": "ASCII characters without blanks",
    r"^[\x20-\x7e]+": "ASCII characters",
    r"^(?:gcc|clang)(?:-[0-9]{1,2}(?:\.[0-9]{1,2})?)?": "a compiler such as gcc, gcc-14 or clang-19",
    r"^[a-z0-9][A-Za-z0-9_./:@-]*": "the name of an image, such as ghcr.io/owner/name:tag",
    r"^[A-Za-z0-9][A-Za-z0-9._~/-]*": "the path of a Go module",
    r"^[A-Za-z0-9][A-Za-z0-9._~/-]{0,199}": "the path of a Go module",
    r"^(?:v[0-9][0-9A-Za-z.+-]{0,80}|[0-9a-f]{7,40})": "a version such as v1.2.3, or a commit",
    r"^[A-Za-z0-9.-]{1,253}(:[0-9]{1,5})?": (
        "a host, and a port where it needs one, such as mail.example.org:25"
    ),
    r"^[a-z0-9_]+": "small letters, digits and _",
    r"^[a-z0-9_]{1,100}": "small letters, digits and _",
    r"^[a-z0-9-]+": "small letters, digits and hyphens",
    r"^-*[A-Za-z0-9][A-Za-z0-9-]*": "letters, digits and hyphens",
    r"^[^\x00-\x20\x7f]{1,300}": "a name without blanks and control characters",
    r"^[^-]": "a name that does not begin with a hyphen",
    r"^[A-Za-z0-9][A-Za-z0-9-]{0,99}/[A-Za-z0-9_.-]{1,100}": "a repository as OWNER/NAME",
    r"^[0-9]+\.[0-9]+": "a release of Linux such as 6.12",
    r'^CONFIG_\w+=([yn]|-?[0-9]+|0x[0-9a-fA-F]+|"[^"\n]*")': (
        "an option of the kernel's configuration, such as CONFIG_BPF=y"
    ),
    r"^[!-~µ]+( [!-~µ]+)*": "a unit, such as ns/op",
}
_ENDS = ("(?![\\s\\S])", "$")
_DIGITS = re.compile(r"\^\[0-9a-(?:f|fA-F)\]\{(?P<least>[0-9]+)(?:,(?P<most>[0-9]+))?\}")
_CHOICE = re.compile(r"\^\((?:\?:)?(?P<words>[a-z|-]+)\)")
_OF_MSGSPEC = re.compile(r"matching regex '(?P<pattern>[^\n]*)'")
_ESCAPED = re.compile(r"\\(.)")
_OF_PYDANTIC = "String should match pattern '"
_UNKNOWN = "of the form that the documentation gives"

_prepared: set[Any] = set()
_preparing = threading.Lock()


class _Thread(threading.local):
    reads = False


_thread = _Thread()


def read_json(content: bytes) -> Any | Problem:
    """Decodes JSON without checking its type. Invalid numbers, such as NaN, are errors."""
    try:
        return msgspec.json.decode(content)
    except _ODD as error:
        return Problem(reason=str(error))


def read_as(content: bytes, kind: type[T]) -> T | Problem:
    """Decodes JSON text into a type."""
    try:
        return decode(content, kind)
    except _ODD as error:
        return locate_error(error)


def convert_to(content: Any, kind: type[T]) -> T | Problem:
    """Converts the content of `read_json` or of a TOML file to a type.

    Texts become paths if the type says so.
    """
    try:
        return convert(content, kind)
    except _ODD as error:
        return locate_error(error)


def decode(content: bytes, kind: type[T]) -> T:
    """Decodes a document that was checked before it was stored. Raises msgspec.MsgspecError."""
    with _reading(kind):
        return msgspec.json.decode(content, type=kind)


def convert(content: Any, kind: type[T]) -> T:
    """Converts decoded JSON to a type. Raises msgspec.MsgspecError."""
    with _reading(kind):
        return msgspec.convert(content, kind, dec_hook=_path)


def is_reading() -> bool:
    """True while this thread decodes a document from outside.

    Documents that the program creates are not checked.
    """
    return _thread.reads


@contextmanager
def _reading(kind: type[Any]) -> Iterator[None]:
    """Marks this thread as reading, and prepares the type.

    msgspec 0.22 builds its type information on first use, and crashes if a second thread decodes the same
    struct meanwhile. The first use is therefore locked.
    """
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


def locate_error(error: Exception) -> Problem:
    """Splits an error of msgspec into place and message.

    msgspec writes the place last: `Expected `int`, got `str` - at `$.plan.boots[0].index``.
    """
    message, _, path = str(error).partition(_AT)
    path = _INDEX.sub(r".\1", path.rstrip("`").removeprefix("$")).replace("[...]", "").strip(".")
    return Problem(member=path, reason=message_in_words(message).replace("`", ""))


def words_of(pattern: str) -> str | None:
    """Describes a pattern in words. None if there are no words for it."""
    for end in _ENDS:
        pattern = pattern.removesuffix(end)
    if pattern in _WORDS:
        return _WORDS[pattern]
    if digits := _DIGITS.fullmatch(pattern):
        return f"{digits['least']}{' to ' + digits['most'] if digits['most'] else ''} digits, 0-9 and a-f"
    if choice := _CHOICE.fullmatch(pattern):
        return f"one of {', '.join(filter(None, choice['words'].split('|')))}"
    return None


def message_in_words(message: str) -> str:
    """Replaces the pattern in a message of msgspec or pydantic with words."""
    if message.startswith(_OF_PYDANTIC):
        return f"it must be {words_of(message[len(_OF_PYDANTIC) : -1]) or _UNKNOWN}"
    match = _OF_MSGSPEC.search(message)
    if match is None:
        return message.removeprefix("Value error, ")
    return (
        f"{message[: match.start()]}that is"
        f" {words_of(_unquote_pattern(match['pattern'])) or _UNKNOWN}{message[match.end() :]}"
    )


def _unquote_pattern(shown: str) -> str:
    """Undoes msgspec's escaping, which shows the pattern as Python source."""
    return _ESCAPED.sub(r"\1", shown)


def document_text(document: msgspec.Struct) -> bytes:
    """Encodes a document as indented JSON."""
    return msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n"


def as_json(document: Any) -> Any:
    """Converts a document, or a part of one, to plain JSON values."""
    return msgspec.to_builtins(document)
