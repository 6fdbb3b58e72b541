"""Formats of other tools that are not read, JSON and texts, each with its name and an alternative."""

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from cliffwatch.parsers.cleaning import clean_lines
from cliffwatch.parsers.readings import Problem

Object = Mapping[str, object]


class ForeignForm(NamedTuple):
    """A JSON format that is not read."""

    name: str
    way_out: str
    """What the user can do instead."""
    has: Callable[[Object], bool]
    """True if an object has this format. For a list it is called with the list's first object."""


_TEXT_OF_TOOL = (
    "give the output of the tool that it was made from: `go test -bench`, Google Benchmark's JSON,"
    " hyperfine's JSON"
)
_CSV = (
    "write each measurement as a row of CSV: benchmark, metric, value, unit, boot (docs/formats.md, The"
    " table)"
)

FORMS = (
    ForeignForm(
        "a report of Cliffwatch",
        "give the result directories or the exports that it compares",
        lambda each: _is(each, "format", "cliffwatch-"),
    ),
    ForeignForm(
        "a KCIDB report",
        "give the files that it was made from",
        lambda each: _has_key(each, "version", "major"),
    ),
    ForeignForm("JMH's JSON", _CSV, lambda each: "primaryMetric" in each or "jmhVersion" in each),
    ForeignForm(
        "github-action-benchmark's list", _TEXT_OF_TOOL, lambda each: {"name", "unit", "value"} <= each.keys()
    ),
    ForeignForm(
        "github-action-benchmark's data",
        _TEXT_OF_TOOL,
        lambda each: {"lastUpdate", "entries"} <= each.keys() or {"commit", "benches"} <= each.keys(),
    ),
    ForeignForm(
        "Criterion's JSON",
        _CSV,
        lambda each: (
            str(each.get("reason", "")).startswith(("benchmark-complete", "group-complete"))
            or {"sampling_mode", "iters", "times"} <= each.keys()
            or {"mean", "median", "std_dev"} <= each.keys()
        ),
    ),
    ForeignForm(
        "Conbench's JSON",
        _CSV,
        lambda each: (
            ("stats" in each and bool({"batch_id", "run_id", "tags"} & each.keys())) or "stats_data" in each
        ),
    ),
    ForeignForm("pytest-benchmark's JSON", _CSV, lambda each: {"machine_info", "benchmarks"} <= each.keys()),
    ForeignForm("pyperf's JSON", _CSV, lambda each: _has_items(each, "benchmarks", "runs")),
    ForeignForm("BenchmarkDotNet's JSON", _CSV, lambda each: "HostEnvironmentInfo" in each),
    ForeignForm("fio's JSON", _CSV, lambda each: "fio version" in each),
    ForeignForm("iperf3's JSON", _CSV, lambda each: {"start", "intervals", "end"} <= each.keys()),
    ForeignForm("nanobench's JSON", _CSV, lambda each: _has_items(each, "results", "median(elapsed)")),
    ForeignForm("asv's JSON", _CSV, lambda each: {"commit_hash", "results"} <= each.keys()),
    ForeignForm("perf stat's JSON", _CSV, lambda each: {"counter-value", "event"} <= each.keys()),
)


_BEGIN = 1 << 15
_GOOGLE_JSON, _HYPERFINE_JSON = "run it with --benchmark_format=json", "run it with --export-json FILE"

_TEXTS = tuple(
    (re.compile(f"(?m){pattern}"), name, way_out)
    for pattern, name, way_out in (
        (
            "^Benchmark {2,200}Time {2,200}CPU {2,200}Iterations",
            "Google Benchmark's console output",
            _GOOGLE_JSON,
        ),
        ("^name,iterations,real_time,cpu_time,time_unit", "Google Benchmark's CSV", _GOOGLE_JSON),
        (r"^(?:Benchmark \d+: |  Time \(mean ± .\):)", "hyperfine's console output", _HYPERFINE_JSON),
        (
            "^command,mean,stddev,median,user,system,min,max",
            "hyperfine's CSV, which has no single runs",
            _HYPERFINE_JSON,
        ),
        (r"^Benchmark {2,200}(?:\(\w+\) {1,200})?Mode {1,20}Cnt {1,40}Score", "JMH's console output", _CSV),
        (r"time: {1,40}\[[\d.]{1,20} [munµp]?s [\d.]{1,20} ", "Criterion's console output", _CSV),
        (r"^window\.BENCHMARK_DATA = ", "github-action-benchmark's data", _TEXT_OF_TOOL),
        (
            r"^(?:\s{0,40}│ {0,200}[^│\n]{0,200}│ {1,200}(?:[^│\n]{0,200}│)?|geomean\s)",
            "benchstat's table",
            "give the files that benchstat read",
        ),
        (
            r"^name {2,200}old [\w/-]{1,40} {1,200}new ",
            "the table of an old benchstat",
            "give the files that benchstat read",
        ),
        (
            r"^benchmark {2,200}old [\w/]{1,40} {1,200}new ",
            "benchcmp's table",
            "give the outputs of `go test -bench` that benchcmp read",
        ),
        ("^ {0,20}Performance counter stats for ", "perf stat's output", _CSV),
        (
            r"^(?:[\d.]{1,30}|<not \w{1,20}>),[\w/]{0,20},[\w:./-]{1,80},\d{1,20},\d{1,3}\.\d\d,",
            "perf stat's CSV",
            _CSV,
        ),
        (r"^# Running '[\w/]{1,40}' benchmark:", "perf bench's output", _CSV),
        (r"^ {0,40}\d{1,20} run_cnt", "the output of bpftool prog profile", _CSV),
        (r"^\d{1,9}: \w{1,30}  name [^\n]{0,200} run_time_ns \d", "the output of bpftool prog show", _CSV),
    )
)


def refuse_foreign_text(text: str) -> Problem | None:
    """Refuses a text that is the output of another known tool for people."""
    begin = "\n".join(line.text for line in clean_lines(text[:_BEGIN]))
    for pattern, name, way_out in _TEXTS:
        if pattern.search(begin):
            return Problem(reason=f"this is {name}, which is not read: {way_out}")
    return None


def refuse_foreign(content: object) -> Problem | None:
    """Refuses a document that cannot be in Bencher's format."""
    is_list = isinstance(content, list)
    first = (
        next((each for each in content if isinstance(each, dict)), {})
        if isinstance(content, list)
        else content
    )
    if isinstance(first, dict):
        for form in FORMS:
            if form.has(first):
                return Problem(reason=f"this is {form.name}, which is not read: {form.way_out}")
    if is_list or not isinstance(content, dict):
        return Problem(reason=f"JSON of a form that is not known, and so not read: {_CSV}")
    return None


def _is(document: Object, key: str, begin: str) -> bool:
    return str(document.get(key, "")).startswith(begin)


def _has_items(document: Object, key: str, member: str) -> bool:
    """True if `document[key]` is a list whose first item has the member."""
    items = document.get(key)
    first = items[0] if isinstance(items, list) and items else None
    return isinstance(first, dict) and member in first


def _has_key(document: Object, key: str, member: str) -> bool:
    """Whether an object in the document has a member."""
    inner = document.get(key)
    return isinstance(inner, dict) and member in inner
