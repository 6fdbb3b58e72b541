"""Reads a suite.toml. Everything that is wrong comes back at once, each with its file and line."""

import difflib
import itertools
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cliffwatch.catalogue.suite import (
    PROFILES,
    Benchmark,
    CaseSpec,
    IcountTraits,
    Length,
    MetricSpec,
    Profile,
    Release,
    Suite,
)
from cliffwatch.catalogue.toml_lines import line_of
from cliffwatch.parsers.bench.kinds import KIND_METRICS

_REQUIRED = object()

_CONFIG_LINE = re.compile(r'CONFIG_\w+=(?:[yn]|-?\d+|0x[0-9a-fA-F]+|"[^"\n]*")')

SUITE_KEYS = {"title": str, "about": str, "config": list, "profiles": dict, "metrics": dict, "benchmark": list}
LENGTH_KEYS = {"warmup": int, "duration": int}
METRIC_KEYS = {"unit": str, "better": str}
BENCHMARK_KEYS = {
    "name": str,
    "kind": str,
    "about": str,
    "since": str,
    "since_uncertain": bool,
    "until": str,
    "until_reason": str,
    "deadline": int,
    "primary": str,
    "args": list,
    "min_cpus": int,
    "icount": dict,
    "sweep": list,
}
ICOUNT_KEYS = {"assume": str, "repeatability": float}
SWEEP_KEYS = {"params": dict, "args": list, "profiles": list, "memory_mib": int, "min_cpus": int}


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueError:
    """Something wrong in a suite.toml. `str()` gives `file:line: message`."""

    file: Path
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.message}"


@dataclass(slots=True)
class _Reader:
    """One file while it is read."""

    file: Path
    text: str
    errors: list[CatalogueError] = field(default_factory=list)

    def wrong(self, path: Sequence[str | int], message: str) -> None:
        self.errors.append(CatalogueError(file=self.file, line=line_of(self.text, path), message=message))

    def check(self, table: Mapping[str, Any], keys: Mapping[str, type], path: tuple[str | int, ...]) -> None:
        for name, value in table.items():
            if name not in keys:
                near = difflib.get_close_matches(name, keys, n=1)
                hint = f"; did you mean '{near[0]}'?" if near else f"; known here: {', '.join(keys)}"
                self.wrong((*path, name), f"unknown key '{name}'{hint}")
            elif not isinstance(value, (int, float) if keys[name] is float else keys[name]):
                self.wrong((*path, name), f"'{name}' must be a {keys[name].__name__}, not {type(value).__name__}")

    def get(
        self, table: Mapping[str, Any], name: str, kind: type, path: tuple[str | int, ...], default: Any = _REQUIRED
    ) -> Any:
        value = table.get(name, default)
        if value is _REQUIRED:
            self.wrong(path, f"'{name}' is missing")
            return kind()
        wanted: tuple[type, ...] = (int, float) if kind is float else (kind,)
        return value if value is default or isinstance(value, wanted) else kind()

    def one_of(self, value: str, allowed: Sequence[str], path: tuple[str | int, ...]) -> None:
        if value not in allowed:
            self.wrong(path, f"'{path[-1]}' is '{value}'; it must be one of: {', '.join(allowed)}")


def read_suite(path: Path) -> Suite | tuple[CatalogueError, ...]:
    """The suite of one file; its name is that of its folder. Errors come back instead, never half a suite."""
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        return (CatalogueError(file=path, line=0, message=f"cannot be read: {error}"),)
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        position = re.search(r"line (\d+)", str(error))
        return (CatalogueError(file=path, line=int(position[1]) if position else 0, message=f"no TOML: {error}"),)
    reader = _Reader(path, text)
    suite = _suite(reader, content)
    return tuple(sorted(reader.errors, key=lambda error: error.line)) if reader.errors else suite


def _suite(reader: _Reader, content: Mapping[str, Any]) -> Suite:
    reader.check(content, SUITE_KEYS, ())
    metrics = {name: _metric(reader, name, table) for name, table in reader.get(content, "metrics", dict, ()).items()}
    benchmarks = tuple(
        _benchmark(reader, index, table) for index, table in enumerate(reader.get(content, "benchmark", list, ()))
    )
    _check_metrics(reader, metrics, benchmarks)
    return Suite(
        name=reader.file.parent.name,
        title=reader.get(content, "title", str, ()),
        about=reader.get(content, "about", str, ()),
        config=_config(reader, reader.get(content, "config", list, (), [])),
        metrics=metrics,
        lengths=_lengths(reader, reader.get(content, "profiles", dict, ())),
        benchmarks=benchmarks,
        source_file=reader.file,
    )


def _config(reader: _Reader, lines: Sequence[Any]) -> tuple[str, ...]:
    """Lines of a fragment of kernel configuration."""
    for index, line in enumerate(lines):
        if not isinstance(line, str) or not _CONFIG_LINE.fullmatch(line):
            reader.wrong(("config", index), f"'{line}' is no line of a kernel configuration, such as CONFIG_IPV6=y")
    return tuple(map(str, lines))


def _lengths(reader: _Reader, tables: Mapping[str, Any]) -> dict[Profile, Length]:
    reader.check(tables, dict.fromkeys(PROFILES, dict), ("profiles",))
    lengths: dict[Profile, Length] = {}
    for profile in PROFILES:
        path = ("profiles", profile)
        table = reader.get(tables, profile, dict, ("profiles",))
        reader.check(table, LENGTH_KEYS, path)
        warmup, duration = (reader.get(table, name, int, path) for name in LENGTH_KEYS)
        if tables.get(profile) and warmup < 1:
            reader.wrong((*path, "warmup"), "'warmup' must be at least 1: bench refuses 0")
        lengths[profile] = Length(warmup=warmup, duration=duration)
    return lengths


def _metric(reader: _Reader, name: str, table: Any) -> MetricSpec:
    path = ("metrics", name)
    if not isinstance(table, dict):
        reader.wrong(path, f"'{name}' must be a table with {', '.join(METRIC_KEYS)}")
        table = {}
    reader.check(table, METRIC_KEYS, path)
    better = reader.get(table, "better", str, path)
    reader.one_of(better, ("higher", "lower"), (*path, "better"))
    return MetricSpec(unit=reader.get(table, "unit", str, path), better=better)


def _benchmark(reader: _Reader, index: int, table: Mapping[str, Any]) -> Benchmark:
    path = ("benchmark", index)
    reader.check(table, BENCHMARK_KEYS, path)
    kind = reader.get(table, "kind", str, path)
    reader.one_of(kind, tuple(KIND_METRICS), (*path, "kind"))
    name = reader.get(table, "name", str, path)
    until = reader.get(table, "until", str, path, None)
    primary = reader.get(table, "primary", str, path, None)
    if primary is not None and primary not in KIND_METRICS.get(kind, {}):
        reader.wrong((*path, "primary"), f"kind '{kind}' prints no metric '{primary}'")
    return Benchmark(
        name=name,
        kind=kind,
        about=reader.get(table, "about", str, path),
        since=_release(reader, reader.get(table, "since", str, path), (*path, "since")),
        since_uncertain=reader.get(table, "since_uncertain", bool, path, False),
        until=_release(reader, until, (*path, "until")) if until is not None else None,
        until_reason=reader.get(table, "until_reason", str, path, ""),
        deadline=reader.get(table, "deadline", int, path),
        primary=primary,
        icount=_icount(reader, reader.get(table, "icount", dict, path), (*path, "icount")),
        cases=_cases(reader, name, table, path),
    )


def _release(reader: _Reader, text: str, path: tuple[str | int, ...]) -> Release:
    match = re.fullmatch(r"(\d+)\.(\d+)", text)
    if not match:
        reader.wrong(path, f"'{path[-1]}' is '{text}'; it must be a kernel release such as \"6.12\"")
        return (0, 0)
    return int(match[1]), int(match[2])


def _icount(reader: _Reader, table: Mapping[str, Any], path: tuple[str | int, ...]) -> IcountTraits:
    reader.check(table, ICOUNT_KEYS, path)
    assume = reader.get(table, "assume", str, path)
    reader.one_of(assume, ("nothing", "exact"), (*path, "assume"))
    return IcountTraits(assume=assume, repeatability=float(reader.get(table, "repeatability", float, path, 0.0)))


def _cases(reader: _Reader, name: str, table: Mapping[str, Any], path: tuple[str | int, ...]) -> tuple[CaseSpec, ...]:
    sweeps = reader.get(table, "sweep", list, path)
    fixed = tuple(str(word) for word in reader.get(table, "args", list, path, []))
    min_cpus = reader.get(table, "min_cpus", int, path, 1)
    cases: list[CaseSpec] = []
    for index, sweep in enumerate(sweeps):
        cases += _sweep(reader, name, sweep, (*path, "sweep", index), fixed, min_cpus)
    known: set[tuple[tuple[str, str], ...]] = set()
    for case in cases:
        if case.params in known:
            reader.wrong(path, f"'{name}' has the case {dict(case.params)} twice")
        known.add(case.params)
    return tuple(cases)


def _sweep(
    reader: _Reader,
    name: str,
    table: Mapping[str, Any],
    path: tuple[str | int, ...],
    fixed: tuple[str, ...],
    min_cpus: int,
) -> list[CaseSpec]:
    """All combinations of the parameters' values, the last parameter changing fastest."""
    reader.check(table, SWEEP_KEYS, path)
    params = reader.get(table, "params", dict, path, {})
    profiles = reader.get(table, "profiles", list, path)
    for profile in profiles:
        reader.one_of(str(profile), PROFILES, (*path, "profiles"))
    values = [value if isinstance(value, list) else [value] for value in params.values()]
    extra = tuple(str(word) for word in reader.get(table, "args", list, path, []))
    cases: list[CaseSpec] = []
    for combination in itertools.product(*values):
        chosen = [(param, value) for param, value in zip(params, combination, strict=True) if value is not False]
        cases.append(
            CaseSpec(
                params=tuple((param, _shown(value)) for param, value in chosen),
                argv=(*fixed, *extra, *(word for param, value in chosen for word in _option(param, value)), name),
                profiles=tuple(profiles),
                memory_mib=reader.get(table, "memory_mib", int, path, 1024),
                min_cpus=reader.get(table, "min_cpus", int, path, min_cpus),
            )
        )
    return cases


_SHORT = {"producers": "-p", "consumers": "-c"}


def _option(param: str, value: object) -> tuple[str, ...]:
    """A parameter as bench's option: `--name value`, or `--name` alone where the value is true."""
    option = _SHORT.get(param, f"--{param}")
    return (option,) if value is True else (option, str(value))


def _shown(value: object) -> str:
    return "yes" if value is True else str(value)


def _check_metrics(reader: _Reader, metrics: Mapping[str, MetricSpec], benchmarks: Sequence[Benchmark]) -> None:
    """The suite lists exactly the metrics that its benchmarks' kinds print, in the units that the parsers give."""
    shapes = {name: shape for each in benchmarks for name, shape in KIND_METRICS.get(each.kind or "", {}).items()}
    for name, shape in shapes.items():
        spec = metrics.get(name)
        if spec is None:
            reader.wrong(("metrics",), f"the metric '{name}' ({shape.unit}) is printed and not listed")
        elif (spec.unit, spec.better) != (shape.unit, shape.better):
            reader.wrong(("metrics", name), f"'{name}' is in '{shape.unit}' and better when {shape.better}")
    for name in metrics.keys() - shapes.keys():
        reader.wrong(("metrics", name), f"no benchmark of this suite prints '{name}'")
