"""Reads the cells of a row and checks their types."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

_LARGEST_NUMBER = 999_999_999

Cells = Mapping[str, object]
"""A row by column name: texts from CSV, or numbers and lists from Parquet.

None and "" mean that there is no value.
"""


class Unreadable(ValueError):
    """A row cannot be read. The message says why."""


def text_of(cells: Cells, name: str) -> str | None:
    content = cells.get(name)
    if content is None or content == "":
        return None
    if not isinstance(content, str):
        raise Unreadable(f"{name} is not text")
    return content


def number_of(cells: Cells, name: str) -> float | None:
    content = cells.get(name)
    if content is None or content == "":
        return None
    return _finite(content, name)


def _finite(content: Any, name: str) -> float:
    odd = isinstance(content, bool) or (
        isinstance(content, str) and ("_" in content or not content.isascii())
    )
    try:
        number = math.nan if odd else float(content)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise Unreadable(f"{name} {str(content)[:40]!r} is not a finite number")
    return number


def whole_of(cells: Cells, name: str) -> int | None:
    content = cells.get(name)
    if content is None or content == "":
        return None
    number = _finite(content, name)
    if number != int(number) or not 0 <= number <= _LARGEST_NUMBER:
        raise Unreadable(f"{name} {str(content)[:40]!r} is not a boot or block number")
    return int(number)


def readings_of(cells: Cells) -> tuple[float, ...]:
    content = cells.get("readings")
    if content is None or content == "":
        return ()
    listed = _json(content, "readings") if isinstance(content, str) else content
    if not isinstance(listed, Sequence) or isinstance(listed, str):
        raise Unreadable("readings are not a list")
    return tuple(_finite(each, "a reading of") for each in listed)


def object_of(cells: Cells, name: str) -> Mapping[str, object]:
    text = text_of(cells, name)
    content = {} if text is None else _json(text, name)
    if not isinstance(content, dict):
        raise Unreadable(f"{name} is not an object")
    return content


def _json(text: str, name: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"{name} is not JSON: {error}") from None


def texts_of(content: Any) -> dict[str, str]:
    """Returns the members of an object that are text. Empty if the content is not an object."""
    pairs = content.items() if isinstance(content, dict) else ()
    return {name: text for name, text in pairs if isinstance(text, str)}
