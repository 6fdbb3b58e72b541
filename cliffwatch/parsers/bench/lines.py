"""Recognises the lines that `bench` prints: result lines of each kind, and the lines around them.

Sources of the formats: tools/testing/selftests/bpf/bench.c and benchs/*.c, linux 5.9 to 7.2.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from cliffwatch.parsers.bench.kind import Kind, Role
from cliffwatch.parsers.bench.kinds import KINDS

SET_UP = re.compile(r"Setting up benchmark '(?P<name>[^']*)'\.\.\.\s*")
STARTED = re.compile(r"Benchmark '(?P<name>[^']*)' started\.\s*")
SLAB = re.compile(r"Slab:\s*(?P<mib>\d{1,12}(?:\.\d{1,6})?)\s*MiB")
"""The memory of a map. Printed by a benchmark that exists only in a branch."""

LIBBPF = re.compile(r"libbpf: (?P<text>.*)")
_HINT = re.compile(r"[/%|:=]|MiB|p50|samples|SUMMARY|Iter|tached|found|creates|errors")
"""Each form has one of these: prose needs no further look."""

_NAMED_GROUP = re.compile(r"\(\?P<\w+>")
_CHATTER = re.compile(
    r"Spun up \d+ procs .*|create socket fd .*|Available benchmarks:|- \S+|Calibrat.*|\S+ scenarios?:.*|"
    r"Proportionality check: .*|"
    r"\+[-+]+|\|[^|]+(?:\| *n *)?\| *p50 *\|.*"
)


@dataclass(frozen=True, slots=True)
class KnownLine:
    """A recognised line, with its fields as text."""

    kind: Kind
    role: Role
    fields: Mapping[str, str]

    def numbers(self) -> dict[str, float]:
        """Returns the numeric fields, including `inf` and `nan`."""
        result: dict[str, float] = {}
        for name, text in self.fields.items():
            try:
                result[name] = float(text)
            except ValueError:
                continue
        return result


@cache
def _any_form() -> re.Pattern[str]:
    """Builds one pattern that matches a line of any form.

    Other lines then need one match instead of thirty.
    """
    forms = (form.compiled.pattern for kind in KINDS.values() for form in kind.forms)
    return re.compile("|".join(f"(?:{_NAMED_GROUP.sub('(?:', pattern)})" for pattern in forms))


def recognise(text: str) -> KnownLine | None:
    """Returns the line with its kind and role; None if it has no known form."""
    stripped = text.strip()
    if _HINT.search(stripped) is None or not _any_form().match(stripped):
        return None
    for kind in KINDS.values():
        if kind.marks and not any(mark in stripped for mark in kind.marks):
            continue
        for form in kind.forms:
            match = form.compiled.match(stripped)
            if match:
                fields = {name: value for name, value in match.groupdict().items() if value is not None}
                return KnownLine(kind, form.role, fields)
    return None


def is_chatter(text: str) -> bool:
    """True if bench prints this line besides its results, or if the line is blank."""
    stripped = text.strip()
    return not stripped or bool(_CHATTER.fullmatch(stripped))
