"""JSON formats that are not read, each with its name and an alternative."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

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


def refuse_foreign(content: object) -> str | None:
    """Explains why a document is not read. None if it may be in Bencher's format."""
    is_list = isinstance(content, list)
    first = (
        next((each for each in content if isinstance(each, dict)), {})
        if isinstance(content, list)
        else content
    )
    if isinstance(first, dict):
        for form in FORMS:
            if form.has(first):
                return f"this is {form.name}, which is not read: {form.way_out}"
    if is_list or not isinstance(content, dict):
        return f"JSON of a form that is not known, and so not read: {_CSV}"
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
