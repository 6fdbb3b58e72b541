"""Parses Google Benchmark's JSON (`--benchmark_format=json`).

Each benchmark is a case, each repetition a sample.

Sources: google/benchmark, src/json_reporter.cc and docs/user_guide.md.
"""

import math
from collections.abc import Iterator, Mapping, Sequence

from cliffwatch.parsers.cleaning import clean_name
from cliffwatch.parsers.readings import ArmDescription, Found, Lost, Parsed, Problem, problem_at
from cliffwatch.samples import CaseKey, CaseStatus, Sample

_SUITE = "google-benchmark"
_NANOSECONDS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
_TIMES = ("real_time", "cpu_time")
_RATES = {"items_per_second": "items/s", "bytes_per_second": "B/s"}
_NO_COUNTERS = frozenset(
    (
        *_TIMES,
        *_RATES,
        "family_index",
        "per_family_instance_index",
        "repetitions",
        "repetition_index",
        "threads",
        "iterations",
    )
)
_CHOSEN = ("median", "mean")
"""The aggregates to use if the repetitions are missing, the preferred one first."""

_MACHINE = {"num_cpus": "cpus", "mhz_per_cpu": "mhz", "library_build_type": "library-build"}


def looks_like_google(content: Mapping[str, object]) -> bool:
    """True if a document is Google Benchmark's.

    Other tools write a list `benchmarks` too. Google Benchmark's has the library's context, or names with a
    `real_time`.
    """
    listed = content.get("benchmarks")
    if not isinstance(listed, list):
        return False
    entries = [each for each in listed if isinstance(each, dict)]
    context = content.get("context")
    of_library = isinstance(context, dict) and bool({"library_build_type", "num_cpus"} & context.keys())
    return of_library or any("real_time" in each and "name" in each for each in entries)


def parse_google(content: Mapping[str, object]) -> Parsed:
    """Parses times as ns/op, rates and counters unchanged. Never raises."""
    listed = content["benchmarks"]
    entries = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    found: list[Found] = []
    problems: list[Problem] = []
    measured = {_name(each) for each in entries if each.get("run_type") != "aggregate" and not _error(each)}
    only = _chosen_aggregates(entries, measured)
    for entry in entries:
        error = _error(entry)
        if error is not None:
            status: CaseStatus = "not-run" if entry.get("skipped") else "failed"
            lost = Lost(CaseKey(_SUITE, _name(entry)), status, why=error)
            problems.append(problem_at(0, _name(entry), f"failed: {error}", lost))
        elif entry.get("run_type") != "aggregate" or id(entry) in only:
            found += [Found(sample) for sample in _samples(entry, problems)]
    if only:
        reason = (
            "only aggregates, no repetitions: one value per benchmark "
            "(run it without --benchmark_report_aggregates_only)"
        )
        problems.append(problem_at(0, "", reason))
    described = _describe_machine(content, problems)
    return Parsed(found=tuple(found), problems=tuple(problems), arms={"": described})


def _name(entry: Mapping[str, object]) -> str:
    """Prefers `run_name`, which lacks the aggregate's suffix. Older versions write only `name`."""
    return clean_name(str(entry.get("run_name") or entry.get("name") or "unknown"))


def _error(entry: Mapping[str, object]) -> str | None:
    if entry.get("skipped"):
        return str(entry.get("skip_message") or "it was skipped")
    if entry.get("error_occurred"):
        return str(entry.get("error_message") or "it failed and does not say why")
    return None


def _chosen_aggregates(entries: Sequence[Mapping[str, object]], measured: set[str]) -> set[int]:
    """Returns the `id()` of one aggregate per benchmark without repetitions."""
    chosen: dict[str, Mapping[str, object]] = {}
    for wanted in _CHOSEN:
        for each in entries:
            if each.get("aggregate_name") == wanted and _name(each) not in measured and not _error(each):
                chosen.setdefault(_name(each), each)
    return {id(each) for each in chosen.values()}


def _samples(entry: Mapping[str, object], problems: list[Problem]) -> Iterator[Sample]:
    case = CaseKey(_SUITE, _name(entry))
    scale = _NANOSECONDS.get(str(entry.get("time_unit", "ns")))
    for metric, content in entry.items():
        if isinstance(content, bool) or not isinstance(content, int | float):
            continue
        unit, factor = _RATES.get(metric, metric), 1.0
        if metric in _TIMES:
            unit, factor = ("ns/op", scale) if scale is not None else (f"{entry['time_unit']}/op", 1.0)
        elif metric in _NO_COUNTERS and metric not in _RATES:
            continue
        value = _finite(content, factor)
        if value is None:
            lost = Lost(case, metric=clean_name(metric))
            problems.append(problem_at(0, _name(entry), f"{metric} is not a finite number", lost))
        else:
            yield Sample(case=case, metric=clean_name(metric), unit=clean_name(unit), value=value)


def _finite(content: float, factor: float) -> float | None:
    try:
        value = float(content) * factor
    except OverflowError:
        return None
    return value if math.isfinite(value) else None


def _describe_machine(content: Mapping[str, object], problems: list[Problem]) -> ArmDescription:
    """Describes the machine.

    Adds problems if the library was built for debugging or the CPU frequency varied.
    """
    context = content.get("context")
    about = context if isinstance(context, dict) else {}
    if about.get("library_build_type") == "debug":
        problems.append(
            problem_at(0, "", "Google Benchmark was built for debugging, which makes times longer")
        )
    if about.get("cpu_scaling_enabled") is True:
        problems.append(problem_at(0, "", "the frequency of the CPU was not fixed (cpu_scaling_enabled)"))
    settings = {name: clean_name(str(about[key])) for key, name in _MACHINE.items() if key in about}
    return ArmDescription(settings=settings, facts={})
