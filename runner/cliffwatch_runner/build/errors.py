"""Finds the first error in a build log, and whose fault it is."""

import re

from cliffwatch.failure import Failure, host_failed, kernel_failed

_ERROR = re.compile(
    r"(?::\s*(?:fatal )?error:|: undefined reference to|^ld(?:\.lld)?: (?:error|cannot)|^FAILED: |^BTFIDS?"
    r" .*FAILED|"
    r"Error: .{0,200}kconfig|Kconfig:\d+:|syntax error|^Error: )",
    re.IGNORECASE,
)
_INCLUDED = re.compile(r"^\s*(?:In file included from|from) .*[:,]$")
_CONTEXT = re.compile(r"^(?!\s++[A-Z]{2}\w*+\s++\S)\s")
_MAKE_ERROR = re.compile(r"^make(?:\[\d+\])?: \*\*\* ")
_DISK_FULL = re.compile(r"No space left on device|Disk quota exceeded")
_KILLED = re.compile(
    r"\bKilled\b|signal terminated program cc1|internal compiler error: Killed|Out of memory"
)
_ABSENT = re.compile(
    r"(?m)^(?:make(?:\[\d{1,3}\])?|(?:/bin/)?(?:ba|da)?sh)(?:: (?:line )?\d{1,9})?: "
    r"(?P<program>[\w.+-]{1,100}): (?:No such file or directory|(?:command )?not found)$"
)
_KEPT_LINES = 24
EVIDENCE = 1000
"""Length of the log's end that is quoted in a failure of the host, in characters."""


def first_error(log: str) -> str:
    """Returns the first error of a log with its context lines. Total.

    Without an error from a tool it is the first `make: ***` line, and without that the end of the log.
    """
    lines = log.splitlines()
    for number, line in enumerate(lines):
        if _ERROR.search(line):
            return _with_context(lines, number)
    failed = next((number for number, line in enumerate(lines) if _MAKE_ERROR.match(line)), None)
    if failed is not None:
        return "\n".join(lines[max(0, failed - 8) : failed + 1])
    return "\n".join(lines[-12:])


def _with_context(lines: list[str], number: int) -> str:
    first = number
    while (
        first > 0
        and number - first < 8
        and (_INCLUDED.match(lines[first - 1]) or ": In function" in lines[first - 1])
    ):
        first -= 1
    last = number + 1
    while last < len(lines) and last - number < _KEPT_LINES and _CONTEXT.match(lines[last]):
        last += 1
    return "\n".join(lines[first:last])


def is_full_disk(log: str) -> bool:
    return bool(_DISK_FULL.search(log))


def is_killed(log: str) -> bool:
    """True if something outside ended the compiler, which is not the tree's fault."""
    return bool(_KILLED.search(log))


def absent_program(log: str) -> str | None:
    """Returns a program that make or a shell did not find, unless it was named with its folder."""
    found = _ABSENT.search(log)
    return None if found is None else found["program"]


def failure_of(log: str) -> Failure:
    """Turns the log of a failed build into a failure of the host or of the tree."""
    if is_full_disk(log):
        return host_failed(
            "the disk is full", "make room, or name another cache with --cache", log[-EVIDENCE:]
        )
    if is_killed(log):
        return host_failed(
            "the compiler was killed", "the machine is short of memory: use fewer --jobs", log[-EVIDENCE:]
        )
    evidence = first_error(log)[:6000]
    absent = absent_program(evidence)
    if absent is not None:
        return kernel_failed(
            f"it does not build: there is no program {absent} here",
            f"install {absent} under /usr, or fix the tree if it names it by mistake",
            evidence,
        )
    return kernel_failed("it does not build", "fix the tree", evidence)
