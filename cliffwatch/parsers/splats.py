"""Finds error reports of the kernel (BUG, WARNING, Oops, stall, panic) in a console log or dmesg."""

import re
from dataclasses import dataclass

CASE_MARK = "cliffwatch: case "
"""The guest agent writes this and the case's name to the kernel log before each case."""

_KERNEL_LINE = re.compile(r"(?:<\d+>)?\[\s*\d+\.\d+\](?:\[[^\]]*\])? ?(?P<text>.*)")
_PANIC = re.compile(r"Kernel panic - not syncing")
_SPLAT = re.compile(
    r"Kernel panic - not syncing|\bBUG: |^BUG:|\bOops\b|^WARNING: |kernel BUG at|Unable to handle kernel|"
    r"general protection fault|soft lockup|hard LOCKUP|rcu: INFO: \S+ (?:self-)?detected stall|"
    r"detected stalls on CPUs|"
    r"INFO: task \S+ blocked for more than|UBSAN: |KASAN: |KCSAN: |unable to handle page fault|double fault|"
    r"Out of memory: Killed process"
)
_ANYWHERE = re.compile(_SPLAT.pattern.replace("^", ""))
_KEPT_LINES = 40
_LONGEST_TITLE = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Splat:
    """One error report of the kernel."""

    line: int
    """Where it begins, from 1."""
    title: str
    """Its first line, at most 200 characters."""
    text: str
    """All its lines, at most 40."""
    case: str | None
    """The case that was running; None before the first case."""
    panic: bool
    """True if the report contains a kernel panic."""


def find_splats(log: str) -> tuple[Splat, ...]:
    """Returns all splats of a kernel log, in order.

    Skips lines that the kernel did not write. Never raises.
    """
    case: str | None = None
    splats: list[Splat] = []
    lines = log.splitlines() if _ANYWHERE.search(log) else []
    skip_until = 0
    for number, line in enumerate(lines):
        text = _kernel_text(line)
        if CASE_MARK in text:
            case = text.partition(CASE_MARK)[2].strip()
        elif number >= skip_until and _SPLAT.search(text):
            block = lines[number : number + _KEPT_LINES]
            splats.append(_splat(number + 1, text, block, case))
            skip_until = number + _length(block)
    return tuple(splats)


def _splat(line: int, title: str, block: list[str], case: str | None) -> Splat:
    kept = block[: _length(block)]
    return Splat(
        line=line,
        title=title[:_LONGEST_TITLE],
        text="\n".join(each[:300] for each in kept),
        case=case,
        panic=any(_PANIC.search(each) for each in kept),
    )


def _length(block: list[str]) -> int:
    """Returns the number of lines up to the report's end marker; all lines if there is none."""
    for offset, line in enumerate(block):
        if "end trace" in line or "end Kernel panic" in line:
            return offset + 1
    return len(block)


def _kernel_text(line: str) -> str:
    match = _KERNEL_LINE.fullmatch(line.strip("\r"))
    return match["text"] if match else ""
