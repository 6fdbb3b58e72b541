"""Summarises how the code of two kernels differs: what was built, whatever was measured."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cliffwatch.comparing.attribution.programs import programs_sentence
from cliffwatch.counting import count_noun

if TYPE_CHECKING:  # reports that know no code load nothing of it
    from cliffwatch.formats.code.differences import ArmCode, CodeDifference, SectionSize

_MOST_FUNCTIONS = 4


def code_sentence(image: "ArmCode") -> str:
    """The differences as a sentence.

    `Code of head: text +96 bytes; 2 of the functions that cases executed differ: jit (only in head, 96
    bytes), …; BPF programs: loop 412 to 436 bytes`
    """
    sizes = ", ".join(_changed_parts(image.sections))
    parts = (sizes, _functions(image), programs_sentence(image))
    return f"Code of {image.arm}: {'; '.join(part for part in parts if part)}"


def _functions(image: "ArmCode") -> str:
    count = len(image.functions) + image.more
    if not count:
        return "no function that cases executed differs" if image.executed else "no function differs"
    verb = "differs" if count == 1 else "differ"
    which = (
        f"{count} of the functions that cases executed" if image.executed else count_noun(count, "function")
    )
    named = sorted(image.functions, key=lambda each: (-abs((each.head or 0) - (each.base or 0)), each.name))
    shown = [f"{each.name} ({_bytes(each, image.arm)})" for each in named[:_MOST_FUNCTIONS]]
    rest = f" and {count - len(shown)} more" if count > len(shown) else ""
    return f"{which} {verb}: {', '.join(shown)}{rest}"


def _bytes(each: "CodeDifference", arm: str) -> str:
    if each.base is None:
        return f"only in {arm}, {count_noun(each.head or 0, 'byte')}"
    if each.head is None:
        return f"not in {arm}"
    return count_noun(each.base, "byte") if each.base == each.head else f"{each.base} to {each.head} bytes"


def _changed_parts(sections: "tuple[SectionSize, ...]") -> Iterator[str]:
    """Sections of the image whose sizes differ."""
    for each in sections:
        if each.base is not None and each.head is not None and each.base != each.head:
            yield f"{each.name} {each.head - each.base:+,} bytes"
