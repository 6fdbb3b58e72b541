"""Reads from a policy how often each kernel is measured: boots or a time, and its layouts."""

from collections.abc import Collection, Mapping
from typing import Any

from cliffwatch.formats.setup import MOST_ASKED_LAYOUTS, TIME_CHOICES, Setup, find_conflict, parse_time
from cliffwatch.pull_request.policy_reader import PolicyReader, shorten_value
from cliffwatch.samples import BOOTS_CHOICES, BOOTS_WORDS, DEFAULT_BOOTS, MOST_ASKED_BOOTS, BootsWord

Boots = int | BootsWord


def read_boots(reader: PolicyReader, content: Mapping[str, object]) -> Boots:
    value: Any = content.get("boots", DEFAULT_BOOTS)
    if (isinstance(value, str) and value in BOOTS_WORDS) or _is_count(value, MOST_ASKED_BOOTS):
        return value  # type: ignore[no-any-return] # one of the few that were just asked for
    reader.refuse(("boots",), f"'boots' is {shorten_value(value)}; give {BOOTS_CHOICES}")
    return DEFAULT_BOOTS


def read_walltime_setup(reader: PolicyReader, content: Mapping[str, object]) -> Setup:
    """Reads `layouts`, `matched` and `time`, which only targets in walltime use."""
    layouts: Any = content.get("layouts")
    if layouts is not None and not _is_count(layouts, MOST_ASKED_LAYOUTS):
        reader.refuse(
            ("layouts",),
            f"'layouts' is {shorten_value(layouts)}; give a number from 1 to {MOST_ASKED_LAYOUTS}",
        )
        layouts = None
    matched = content.get("matched", False)
    if not isinstance(matched, bool):
        reader.refuse(("matched",), f"'matched' is {shorten_value(matched)}; give true or false")
    return Setup(layouts=layouts, matched=matched is True, seconds=_read_time(reader, content.get("time")))


def refuse_conflict(reader: PolicyReader, setup: Setup, boots: Boots, modes: Collection[str]) -> None:
    """Refuses boots, layouts and a time that do not go together, or not with the targets."""
    conflict = find_conflict(setup, str(boots), modes)
    if conflict is not None:
        reader.refuse((conflict.option,), conflict.reason)


def _read_time(reader: PolicyReader, value: object) -> float | None:
    seconds = parse_time(value) if isinstance(value, str) else None
    if value is not None and seconds is None:
        reader.refuse(("time",), f"'time' is {shorten_value(value)}; give {TIME_CHOICES}")
    return seconds


def _is_count(value: object, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= most
