"""Recorded configurations: what a loader wrote into an object before the kernel verified it.

Constants in .rodata and the sizes of maps decide how much the verifier has to do. A recorded configuration is
written into the object itself, so every loader and every veristat takes it.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from msgspec import Meta, field

from cliffwatch.failure import Failure, wrong_usage
from cliffwatch.formats.reading import as_json, convert_to
from cliffwatch.formats.values import Part
from cliffwatch.parsers.readings import Problem
from cliffwatch_runner.objects.elf import bytes_of, sections_of, with_section
from cliffwatch_runner.objects.map_sizes import map_sizes, with_map_sizes

RODATA = ".rodata"
Size = Annotated[int, Meta(ge=1, le=(1 << 32) - 1)]


class RecordedConfiguration(Part, frozen=True, kw_only=True):
    """The constants and the sizes of maps of a loaded object."""

    rodata: dict[str, str]
    """Content in hex, by section: .rodata, or one of .rodata.*."""

    max_entries: dict[str, Size] = field(default_factory=dict)
    """By the map's name in the object; only those that differ from it."""


def read_configuration(text: str) -> RecordedConfiguration | str:
    """Reads a recorded configuration. Returns what is wrong with it as text."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return "it is no JSON"
    read = convert_to(content, RecordedConfiguration)
    return str(read) if isinstance(read, Problem) else read


def write_configuration(recorded: RecordedConfiguration) -> str:
    return json.dumps(as_json(recorded), indent=1) + "\n"


def configured(content: bytes, recorded: RecordedConfiguration) -> bytes | str:
    """Returns the object with a configuration written into it, or why that cannot be done."""
    try:
        sections = sections_of(content)
        for name, digits in recorded.rodata.items():
            wrong = _fault(name, sections[name].size if name in sections else None, len(digits) // 2)
            if wrong:
                return wrong
            content = with_section(content, sections[name], bytes.fromhex(digits))
        if recorded.max_entries:
            if ".BTF" not in sections:
                return "it has no BTF, so the sizes of its maps cannot be changed"
            btf = bytes_of(content, sections[".BTF"])
            unknown = sorted(recorded.max_entries.keys() - map_sizes(btf).keys())
            if unknown:
                return f"it has no map '{unknown[0]}'"
            content = with_section(content, sections[".BTF"], with_map_sizes(btf, recorded.max_entries))
    except ValueError as error:
        return str(error)
    return content


def record_configuration(
    content: bytes, rodata: Mapping[str, bytes], sizes: Mapping[str, int]
) -> RecordedConfiguration | Failure:
    """Makes a configuration from the maps of a loaded object.

    `rodata`: content of its constants by section. `sizes`: `max_entries` by the name that the kernel keeps,
    which is the first 15 letters of the map's.
    """
    try:
        sections = sections_of(content)
        own = map_sizes(bytes_of(content, sections[".BTF"])) if ".BTF" in sections else {}
    except ValueError as error:
        return wrong_usage(f"the object cannot be read: {error}", "name the object that was loaded")
    for name, value in rodata.items():
        wrong = _fault(name, sections[name].size if name in sections else None, len(value))
        if wrong:
            return wrong_usage(
                f"the constants do not fit the object: {wrong}", "name the object that was loaded"
            )
    changed = {
        name: sizes[name[:15]] for name, size in own.items() if sizes.get(name[:15], size) not in (size, 0)
    }
    return RecordedConfiguration(
        rodata={name: value.hex() for name, value in rodata.items()}, max_entries=changed
    )


def _fault(name: str, size: int | None, recorded: int) -> str:
    if not (name == RODATA or name.startswith(f"{RODATA}.")):
        return f"'{name}' is no section of constants (.rodata)"
    if size is None:
        return f"it has no section {name}"
    if size != recorded:
        return f"its {name} has {size} bytes, and {recorded} were recorded: it is another build"
    return ""


def configuration_file(stem: str, name: str) -> Path:
    """Name of the file of a configuration, beside its object."""
    return Path(f"{stem}.{name}.json")
