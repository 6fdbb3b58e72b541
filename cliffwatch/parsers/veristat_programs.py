"""Parses veristat's verbose output for one object: verdict, reason and numbers of each program.

veristat runs with `-v -l 4 -o csv`.
The text is veristat's standard output and error together. Before the CSV come, for each program in turn:

1. libbpf's messages,
2. a line of the preloaded library that watches the load (suites/veristat/sizes.c),
3. `PROCESSING …`,
4. the verifier's log.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from cliffwatch.parsers.readings import Problem
from cliffwatch.parsers.veristat import parse_veristat

NO_MEMORY = 12
"""ENOMEM. It says nothing about the program."""

_LOADED = re.compile(
    r"cliffwatch: load (?P<error>\d{1,9}) xlated (?P<xlated>\d{1,18}) jited (?P<jited>\d{1,18})"
    r"(?: took (?P<took>\d{1,18}))?"
)
_PROCESSING = re.compile(
    r"PROCESSING (?P<file>.*)/(?P<program>[^/]+), DURATION US: -?\d+, VERDICT: (?P<verdict>\w+), "
    r"VERIFIER LOG:"
)
_HEADER = "file_name,prog_name,"
_NOT_OPENED = re.compile(r"Failed to open '[^'\n]*+': -?(?P<error>\d+)")
_SKIPPED = re.compile(r"Skipping '[^'\n]*+' as it's not a BPF object")
_NO_REASON = re.compile(
    r"processed \d+ insns|verification time|stack depth|(old|cur) state:|from \d+ to \d+|\d+: |; |"
    r"libbpf: |cliffwatch: "
)
"""Log lines that show the verifier's progress, and lines that belong to the next program."""

_LIBBPF = "libbpf: "
_ANOTHERS_LOG = re.compile(r"libbpf: prog '(?P<program>[^']+)': -- BEGIN PROG LOAD LOG --")
_LOGS_END = "-- END PROG LOAD LOG --"
_SHORT = re.compile(r"Cannot allocate memory|-12\b|\bENOMEM\b")
"""How libbpf reports ENOMEM, for a map too, before it loads any program."""

_INSTRUCTION_BYTES = 8
_LONGEST_REASON = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedProgram:
    """A program of a BPF object, after veristat tried to load it."""

    name: str
    taken: bool
    """True if the kernel accepted the program."""
    reason: str = ""
    """Why the kernel refused the program; empty if it accepted it."""
    error: int = 0
    """The errno of the load; 0 if the load succeeded or was never tried."""
    values: Mapping[str, tuple[float, str]] = field(default_factory=dict)
    """Value and unit by metric; empty if the program was refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedObject:
    """The programs of a BPF object."""

    programs: tuple[VerifiedProgram, ...]
    """In veristat's order."""
    complaint: str
    """Why veristat could not open the object; empty if it could."""
    problems: tuple[Problem, ...]


def read_verified(text: str) -> VerifiedObject:
    """Parses veristat's verbose output. Never raises: lines that cannot be read become problems."""
    lines = text.splitlines()
    start = max((number for number, line in enumerate(lines) if line.startswith(_HEADER)), default=len(lines))
    verified = {each.name: each for each in _before_csv(lines[:start])}
    parsed = parse_veristat("\n".join(lines[start:]))
    values: dict[str, dict[str, tuple[float, str]]] = {}
    for sample in parsed.samples:
        program = sample.case.benchmark.partition("/")[2]
        values.setdefault(program, {})[sample.metric] = sample.value, sample.unit
    programs = tuple(_with_values(each, values[name]) for name, each in verified.items() if name in values)
    # A refused program is a result here, not an unreadable line.
    problems = tuple(each for each in parsed.problems if not each.reason.startswith("failed: "))
    return VerifiedObject(programs=programs, complaint=_complaint(lines), problems=problems)


def _with_values(program: VerifiedProgram, values: Mapping[str, tuple[float, str]]) -> VerifiedProgram:
    """Merges the values. Veristat's own values take precedence over those of the preloaded library."""
    seen = {metric: value for metric, value in program.values.items() if metric not in values}
    return replace(program, values={**values, **seen}) if program.taken else program


def _before_csv(lines: Sequence[str]) -> Iterator[VerifiedProgram]:
    """Yields each program from the lines before the CSV, with the sizes of its image."""
    places = [number for number, line in enumerate(lines) if _PROCESSING.match(line)]
    for previous, place, following in zip([-1, *places], places, [*places[1:], len(lines)], strict=False):
        begun = _PROCESSING.match(lines[place])
        assert begun is not None
        before, log = lines[previous + 1 : place], _until_blank(lines[place + 1 : following])
        yield _program(begun["program"], begun["verdict"] == "success", before, log)


def _program(name: str, taken: bool, before: Sequence[str], log: Sequence[str]) -> VerifiedProgram:
    loads = [match for line in before if (match := _LOADED.search(line))]
    last = loads[-1] if loads else None
    error = int(last["error"]) if last else 0
    if not taken:
        reason = _reason(before, log, loaded=error != 0)
        error = NO_MEMORY if _SHORT.search(reason) else error
        return VerifiedProgram(name=name, taken=False, error=error, reason=reason)
    values: dict[str, tuple[float, str]] = {}
    if last is not None and error == 0 and int(last["xlated"]):
        values["size"] = int(last["xlated"]) / _INSTRUCTION_BYTES, "insns"
    if last is not None and error == 0 and int(last["jited"]):
        values["jited_size"] = float(last["jited"]), "bytes"
    if last is not None and error == 0 and int(last["took"] or 0):
        values["load"] = float(last["took"]), "ns/load"
    return VerifiedProgram(name=name, taken=True, values=values)


def _until_blank(lines: Sequence[str]) -> Sequence[str]:
    """Returns the verifier's log. A blank line ends it; the lines after that belong to the next program."""
    return lines[: next((number for number, line in enumerate(lines) if not line.strip()), len(lines))]


def _reason(before: Sequence[str], log: Sequence[str], *, loaded: bool) -> str:
    """Explains why a program was refused.

    If the verifier refused it, the reason is the last message of its log. Otherwise it is the log of another
    program that has to be loaded with it, or libbpf's first message.
    """
    of_verifier = _last_word(log) if loaded else ""
    return (
        of_verifier
        or _of_another(before)
        or _of_libbpf(before)
        or "libbpf does not load it and does not say why"
    )[:_LONGEST_REASON]


def _last_word(log: Sequence[str]) -> str:
    said = [line.strip() for line in log if line.strip() and not _NO_REASON.match(line.strip())]
    return said[-1] if said else ""


def _of_another(lines: Sequence[str]) -> str:
    begun = next(
        ((number, match) for number, line in enumerate(lines) if (match := _ANOTHERS_LOG.match(line))), None
    )
    if begun is None:
        return ""
    log = lines[begun[0] + 1 :]
    word = _last_word(log[: next((number for number, line in enumerate(log) if _LOGS_END in line), len(log))])
    return f"{begun[1]['program']}: {word}" if word else ""


def _of_libbpf(lines: Sequence[str]) -> str:
    said = [line.removeprefix(_LIBBPF).strip() for line in lines if line.startswith(_LIBBPF)]
    return next(
        (line for line in said if "Retrying" not in line and not line.startswith("failed to load object")), ""
    )


def _complaint(lines: Sequence[str]) -> str:
    if any(_SKIPPED.match(line) for line in lines):
        return "it is no BPF object (ELF)"
    refused = next((match for line in lines if (match := _NOT_OPENED.search(line))), None)
    if refused is None:
        return ""
    said = _of_libbpf(lines) or f"libbpf cannot open it as a BPF object (errno {refused['error']})"
    return said[:_LONGEST_REASON]
