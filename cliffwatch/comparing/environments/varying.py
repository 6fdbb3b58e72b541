"""Declared differences between the sides of a comparison. Any other difference is refused, by name."""

import json
from collections.abc import Iterable, Iterator, Mapping

from cliffwatch.failure import Failure, wrong_usage
from cliffwatch.samples import Arm

KERNEL = "kernel"
_OF_KERNEL = ("commit", "tree", "kernel", "release")
"""Facts that identify an arm's kernel."""

_ALSO: Mapping[str, tuple[str, ...]] = {
    "cpu": ("processor", "microcode", "host.cpu", "booted.cpu_model", "booted.microcode"),
    "processor": ("cpu", "microcode", "host.cpu", "booted.cpu_model", "booted.microcode"),
    "microcode": ("host.cpu.microcode", "booted.microcode"),
    "bios": ("host.dmi",),
    "host": ("bios", "host-kernel", "processor", "microcode"),
    "host.dmi": ("bios",),
    "host.kernel": ("host-kernel",),
    "host-kernel": ("host.kernel",),
    "compiler": ("toolchain",),
    "toolchain": ("compiler",),
    "guest": ("booted",),
}
"""Other names under which a run records the same property."""

_MOST_NAMED = 30
_LONGEST = 80


def refuse_undeclared(base: Arm, heads: Iterable[Arm], varying: Iterable[str]) -> Failure | None:
    """A Failure that names the differences outside `varying`; None if there are none."""
    declared = set(varying)
    declared |= {also for name in declared for also in _ALSO.get(name, ())}
    found: dict[str, str] = {}
    for head in heads:
        for name, words in _differences(base, head):
            if not _is_declared(name, declared):
                found.setdefault(name, words)
    if not found:
        return None
    shown = "; ".join(f"{name}: {words}" for name, words in list(found.items())[:_MOST_NAMED])
    more = f"; and {len(found) - _MOST_NAMED} more" if len(found) > _MOST_NAMED else ""
    allowed = ", ".join(varying)
    return wrong_usage(
        f"the sides differ in more than {allowed}: {shown}{more}",
        "measure both sides with the same, or say that it may differ: --varying"
        f" {','.join([*varying, *list(found)[:3]])}",
    )


def _is_declared(name: str, declared: Iterable[str]) -> bool:
    return any(name == each or name.startswith(f"{each}.") for each in declared)


def _differences(base: Arm, head: Arm) -> Iterator[tuple[str, str]]:
    ours, theirs = dict(_known_facts(base)), dict(_known_facts(head))
    for name in dict.fromkeys([*ours, *theirs]):
        one, other = _of(ours, theirs, name), _of(theirs, ours, name)
        if one is not None and other is not None and one != other:
            yield name, f"{one[:_LONGEST]} and {other[:_LONGEST]}"


def _of(own: Mapping[str, str], other: Mapping[str, str], name: str) -> str | None:
    """A side's value; `none` if it lacks one member of a group but has others. None if it has no value."""
    if name in own or name not in other:
        return own.get(name)
    group, dot, _ = name.rpartition(".")
    return "none" if dot and any(each.startswith(f"{group}.") or each == group for each in own) else None


def _known_facts(arm: Arm) -> Iterator[tuple[str, str]]:
    for name, value in (("mode", arm.mode), ("platform", arm.platform)):
        if value is not None:
            yield name, value
    kernel = [f"{name} {arm.facts[name]}" for name in _OF_KERNEL if name in arm.facts]
    if kernel:
        yield KERNEL, kernel[0]
    for name, text in {**arm.environment, **arm.recorded}.items():
        if name == "guest" and any(each.startswith("guest.") for each in arm.recorded):
            continue
        yield from _parts(name, text)


def _parts(name: str, text: str) -> Iterator[tuple[str, str]]:
    """Yields a text, or the members of the JSON object that it contains."""
    try:
        content = json.loads(text) if text.startswith("{") else None
    except (ValueError, RecursionError):
        content = None
    if isinstance(content, dict):
        yield from ((f"{name}.{key}", json.dumps(value)) for key, value in content.items())
    else:
        yield name, text
