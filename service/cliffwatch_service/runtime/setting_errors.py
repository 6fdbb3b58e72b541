"""Says in words which setting is wrong, and what it may be."""

import os
from collections.abc import Mapping

from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from cliffwatch.counting import count_noun
from cliffwatch.formats.reading import message_in_words
from cliffwatch.trees.addresses import without_credentials

PREFIX = "CLIFFWATCH_"
_LONGEST_VALUE = 200

_KINDS = {
    "bool": "true or false",
    "string": "text",
    "path": "a path",
    "tuple": "a list of texts, or text with commas",
}
"""What a setting must be, by the first word of the error's type."""
_OF_NUMBERS = ("greater_than", "less_than", "int", "float")


def describe_error(error: ErrorDetails, fields: Mapping[str, FieldInfo], file: str | None) -> str:
    """Says what is wrong with a setting. `file` is where settings are that the environment does not have."""
    name = str(error["loc"][0]) if error["loc"] else ""
    field = fields.get(name.lower())
    allowed = _allowed(error, field)
    said = f"{_place(name, file)}: {allowed}"
    # The value of an unknown setting may be a misspelt one's secret. Some messages begin with the value.
    if field is None or "SecretStr" in str(field.annotation) or allowed.startswith("'"):
        return said
    shown = without_credentials(repr(error["input"]))
    return f"{said} (it is {shown if len(shown) <= _LONGEST_VALUE else f'{shown[:_LONGEST_VALUE]}…'})"


def _place(name: str, file: str | None) -> str:
    variable = name if name == "DATABASE_URL" else PREFIX + name.upper()
    return variable if variable in os.environ or file is None else f"{name} in {file}"


def _allowed(error: ErrorDetails, field: FieldInfo | None) -> str:
    kind, context = error["type"], error.get("ctx", {})
    if kind == "extra_forbidden":
        return "there is no such setting"
    if kind == "literal_error":
        return f"it must be {context['expected']}"
    if kind in ("too_short", "string_too_short"):
        return f"it must have at least {count_noun(context['min_length'], 'character')}"
    if kind in ("too_long", "string_too_long"):
        return f"it must have at most {count_noun(context['max_length'], 'character')}"
    if kind.startswith(_OF_NUMBERS):
        return f"it must be {_numbers(error, field)}"
    of_kind = _KINDS.get(kind.partition("_")[0]) if kind != "string_pattern_mismatch" else None
    return message_in_words(error["msg"]) if of_kind is None else f"it must be {of_kind}"


def _numbers(error: ErrorDetails, field: FieldInfo | None) -> str:
    """Returns the numbers that a setting may be, such as `a whole number from 1 to 24`."""
    if field is None or len(error["loc"]) > 1:
        return "whole numbers above 0"
    limits: dict[str, float] = {
        name: getattr(each, name)
        for each in field.metadata
        for name in ("ge", "gt", "le")
        if getattr(each, name, None) is not None
    }
    what = "a number" if "float" in str(field.annotation) else "a whole number"
    if "gt" in limits:
        return f"{what} above {limits['gt']:g} and at most {limits['le']}"
    if "le" in limits:
        return f"{what} from {limits['ge']} to {limits['le']}"
    return f"{what} of at least {limits['ge']}"
