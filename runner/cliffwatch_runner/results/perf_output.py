"""Parses perf's output: `perf report` with fields separated by `|`, and `perf stat -x,` (perf-report(1),
perf-stat(1)).

Output from the guest is hostile input.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from cliffwatch.formats.code.profile import (
    MOST_COUNTERS,
    MOST_PROFILED,
    CaseProfile,
    CounterRecord,
    ProfiledFunction,
)
from cliffwatch.samples import CaseKey
from cliffwatch_runner.guest.files import read_guest_file

_NOT_A_LETTER = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_SAMPLES = re.compile(r"[0-9]{1,15}")
_NUMBER = re.compile(r"[0-9]{1,16}(?:\.[0-9]{1,9})?")
_PROGRAM = re.compile(r"^bpf_prog_[0-9a-f]{16}_?")
_NO_VALUE = ("<not supported>", "<not counted>")
_LONGEST = 200
_LEAST_FIELDS = 3
_MOST_LINES = 20_000
_LARGEST = 2.0**53


def read_report(text: str) -> tuple[ProfiledFunction, ...]:
    """Parses `perf report -F overhead,sample,dso,sym -t '|'` into functions, most samples first.

    Other lines are skipped. Shares are computed from the samples, because perf rounds its own to two digits.
    """
    lines = [line.split("|", 3) for line in text.splitlines()[:_MOST_LINES]]
    rows = [(int(samples), place.strip(), symbol.strip()) for _, samples, place, symbol in _whole(lines)]
    total = sum(samples for samples, _, _ in rows)
    merged: dict[tuple[str, str], int] = {}
    for samples, place, symbol in rows:
        key = _name(place, symbol)
        merged[key] = merged.get(key, 0) + samples
    largest = sorted(merged.items(), key=lambda each: (-each[1], each[0]))
    return tuple(
        ProfiledFunction(name=name, object=place, share=samples / total, samples=samples)
        for (name, place), samples in largest[:MOST_PROFILED]
        if total
    )


def _whole(lines: list[list[str]]) -> Iterator[list[str]]:
    for fields in lines:
        if len(fields) == 4 and _SAMPLES.fullmatch(fields[1].strip()):
            yield fields


def _name(place: str, symbol: str) -> tuple[str, str]:
    """Returns the names of a function and its object.

    A program's digest, which differs between kernels, and addresses without a symbol are removed.
    """
    privilege, _, name = symbol.partition("] ")
    name = _line(name) or "?"
    if name.startswith("0x"):
        name = "(no symbol)"
    if _PROGRAM.match(name):
        return _PROGRAM.sub("", name) or "?", "bpf"
    if privilege.strip() == "[k" and not place.startswith("bpf_"):
        return name, "kernel"
    return name, _line(place) or "?"


def _line(text: str) -> str:
    return _NOT_A_LETTER.sub("", text).strip()[:_LONGEST]


def read_counters(text: str) -> tuple[CounterRecord, ...]:
    """Parses `perf stat -x,`: value, unit, event, time counted, share of the time.

    Skips comments and lines without a number.
    """
    counters = [
        counter
        for line in text.splitlines()[:_MOST_LINES]
        if (counter := _counter(line.split(","))) is not None
    ]
    return tuple(counters[:MOST_COUNTERS])


def _counter(fields: list[str]) -> CounterRecord | None:
    if len(fields) < _LEAST_FIELDS or not (event := _line(fields[2])):
        return None
    running = _number(fields[4]) if len(fields) > 4 else None
    share = 1.0 if running is None else min(1.0, running / 100)
    if fields[0].strip() in _NO_VALUE:
        return CounterRecord(event=event, value=None)
    value = _number(fields[0])
    return (
        None
        if value is None
        else CounterRecord(event=event, value=value, unit=_line(fields[1])[:40], running=share)
    )


def _number(text: str) -> float | None:
    if not _NUMBER.fullmatch(text.strip()):
        return None
    value = float(text)
    return value if value <= _LARGEST else None


def case_profile(folder: Path, name: str, case: CaseKey, arm: str, problem: str) -> CaseProfile:
    """Returns what a boot recorded of a case: the agent's files below `folder`/cases, the host's below
    `folder`/host.

    `problem` is a problem of the boot itself; empty if there is none.
    """
    guest = read_guest_file(folder, f"cases/{name}.counters") or ""
    host = read_guest_file(folder, f"host/{name}.counters") or ""
    functions = read_report(read_guest_file(folder, f"cases/{name}.perf") or "")
    problems = [problem] if problem else []
    if not functions:
        problems.append(f"no samples: {_last_line(read_guest_file(folder, f'cases/{name}.perf.err'))}")
    if not host:
        problems.append(
            f"nothing counted on the host: {_last_line(read_guest_file(folder, f'host/{name}.err'))}"
        )
    return CaseProfile(
        suite=case.suite,
        benchmark=case.benchmark,
        params=dict(case.params),
        arm=arm,
        event=_line(read_guest_file(folder, f"cases/{name}.event", limit=40) or "")[:40],
        functions=functions,
        guest=read_counters(guest),
        host=read_counters(host),
        problems=tuple(each[:4000] for each in problems),
    )


def _last_line(text: str | None) -> str:
    lines = [line for line in map(_line, (text or "").splitlines()) if line]
    return lines[-1] if lines else "perf did not say why"
