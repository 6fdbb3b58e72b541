"""Under which conditions two sides were measured: the same, or item by item what differs."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from cliffwatch_service.ingest.environments import environment_facts

_LONGEST = 300


@dataclass(frozen=True, slots=True)
class Condition:
    """An item of the environment on both sides, in words."""

    item: str
    base: str
    head: str

    @property
    def same(self) -> bool:
        return self.base == self.head


def conditions(base: Mapping[str, Any], base_arm: str, head: Mapping[str, Any], head_arm: str) -> list[Condition]:
    """Of two records (run.json) and the names of the arms in them: what differs first."""
    ours = dict(_flat(_facts(base, base_arm)))
    theirs = dict(_flat(_facts(head, head_arm)))
    items = [Condition(item, ours.get(item, "–"), theirs.get(item, "–")) for item in dict.fromkeys([*ours, *theirs])]
    return sorted(items, key=lambda each: each.same)


def _facts(record: Mapping[str, Any], arm: str) -> dict[str, Any]:
    facts = (record.get("arms", {}).get(arm) or {}).get("facts", {})
    kernel = {name: facts.get(name) for name in ("release", "config") if facts.get(name)}
    return {"kernel": kernel, **environment_facts(record)}


def flat_conditions(record: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The environment of one run, item by item."""
    return list(_flat(environment_facts(record)))


def _flat(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for name, each in value.items():
            yield from _flat(each, f"{path} {name}".strip())
    elif value is not None:
        text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        yield path, text[:_LONGEST]
