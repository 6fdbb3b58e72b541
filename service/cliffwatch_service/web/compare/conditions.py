"""Compares the environments of two sides item by item."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from cliffwatch.formats.run_record import RunRecord
from cliffwatch.formats.values import FreeJson
from cliffwatch_service.ingest.environments import environment_facts

_LONGEST = 300


@dataclass(frozen=True, slots=True)
class Condition:
    """An item of the environment with its text on both sides."""

    item: str
    base: str
    head: str

    @property
    def same(self) -> bool:
        return self.base == self.head


def conditions(base: RunRecord, base_arm: str, head: RunRecord, head_arm: str) -> list[Condition]:
    """Compares two run records (run.json), each with the name of its arm. Differing items come first."""
    ours = dict(_flat(_facts(base, base_arm)))
    theirs = dict(_flat(_facts(head, head_arm)))
    items = [
        Condition(item, ours.get(item, "–"), theirs.get(item, "–"))
        for item in dict.fromkeys([*ours, *theirs])
    ]
    return sorted(items, key=lambda each: each.same)


def _facts(record: RunRecord, name: str) -> FreeJson:
    arm = record.arm_by_name.get(name)
    facts = {} if arm is None else {"release": arm.facts.release, "config": arm.facts.config}
    return {"kernel": {each: value for each, value in facts.items() if value}, **environment_facts(record)}


def flat_conditions(record: RunRecord) -> list[tuple[str, str]]:
    """Returns the environment of one run as pairs of item and text."""
    return list(_flat(environment_facts(record)))


def _flat(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for name, each in value.items():
            yield from _flat(each, f"{path} {name}".strip())
    elif value is not None:
        text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        yield path, text[:_LONGEST]
