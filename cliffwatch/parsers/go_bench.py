"""The Go benchmark format, in and out.

Source: golang.org/design/14313-benchmark-format, and golang.org/x/perf/benchfmt for `Unit` lines. A name of ours is
`BenchmarkBPF/bench=NAME/PARAM=VALUE-1`: benchstat groups by its parts, and the suffix, always 1, keeps a parameter that
ends in a dash and digits from being taken for GOMAXPROCS. Characters that the format has a use for are percent-encoded.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from urllib.parse import quote, unquote

from cliffwatch.parsers.cleaning import Line, clean_lines
from cliffwatch.readings import Parsed, Problem, Value
from cliffwatch.samples import Arm, Assumed, MetricTraits

_CONFIG = re.compile(r"^(?P<key>[a-z][^\s:A-Z]*):\s*(?P<value>.*)$")
_CHATTER = re.compile(r"^(?:PASS|FAIL|ok\s|---|===|\?\s|exit status|Unit\s|testing:|\s|#|$)")
_PROCS = re.compile(r"-(\d+)$")
_OURS = "BPF/bench="
_COMPACT = {
    "Mops/s": "M ops/s",
    "kops/s": "k ops/s",
    "ops/s": "ops/s",
    "ns/op": "ns/op",
    "kmallocs/create": "kmallocs/create",
    "MiB": "MiB",
    "MB/s": "MB/s",
    "ticks": "ticks",
    "us": "us",
    "%": "%",
}
_SAFE = "._:+,()"


def parse_go_bench(text: str) -> Parsed:
    """Every result line as values, one for each of its units; each line is one boot of its case. Total."""
    values: list[Value] = []
    problems: list[Problem] = []
    config: dict[str, str] = {}
    assumed: dict[tuple[str, str], Assumed] = {}
    for line in clean_lines(text):
        words = line.text.split()
        if len(words) >= 4 and words[0].startswith("Benchmark") and words[1].isdecimal() and len(words) % 2 == 0:
            _read_result(words, config, values, problems, line)
        elif len(words) >= 3 and words[0] == "Unit":
            assumed[metric_of(words[1])] = _assumed(words[2:], assumed.get(metric_of(words[1])))
        elif setting := _CONFIG.match(line.text):
            config[setting["key"]] = setting["value"].strip()
        elif not _CHATTER.match(line.text):
            reason = "neither a result nor a setting; it was passed over"
            problems.append(Problem(line=line.number, text=line.text[:400], reason=reason))
    return Parsed(values=tuple(values), problems=tuple(problems), assumed=assumed)


def _assumed(words: list[str], before: Assumed | None) -> Assumed:
    """A `Unit` line's words, such as better=higher and assume=exact; what is none of those is passed over."""
    better, assume = before if before is not None else (None, None)
    for word in words:
        match word.split("="):
            case ["better", ("higher" | "lower") as way]:
                better = "higher" if way == "higher" else "lower"
            case ["assume", ("exact" | "nothing") as kind]:
                assume = "exact" if kind == "exact" else "nothing"
            case _:
                continue
    return Assumed(better, assume)


def _read_result(
    words: list[str], config: Mapping[str, str], values: list[Value], problems: list[Problem], line: Line
) -> None:
    """`words` are the name, the iterations, and then a number and a unit each."""
    benchmark, params = _name(words[0].removeprefix("Benchmark"))
    suite = config.get("suite") or config.get("pkg")
    for amount, unit in zip(words[2::2], words[3::2], strict=True):
        try:
            value = float(amount)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            reason = f"'{amount[:40]}' is no number"
            problems.append(Problem(line=line.number, text=line.text[:400], reason=reason))
            continue
        metric, shown = metric_of(unit)
        values.append(Value(suite, benchmark, metric, shown, value, params))


@lru_cache(maxsize=1 << 16)
def _name(name: str) -> tuple[str, Mapping[str, str]]:
    procs = _PROCS.search(name)
    bare = name[: procs.start()] if procs else name
    if bare.startswith(_OURS):
        benchmark, *parts = bare.removeprefix(_OURS).split("/")
        pairs = (part.partition("=") for part in parts)
        return unquote(benchmark), MappingProxyType({unquote(key): unquote(value) for key, _, value in pairs})
    return bare, MappingProxyType({"procs": procs[1]} if procs else {})


@lru_cache(maxsize=4096)
def metric_of(unit: str) -> tuple[str, str]:
    """Metric and unit from a unit of the format: ours carry the metric before the last dash."""
    for compact, shown in _COMPACT.items():
        if unit.endswith(f"-{compact}"):
            return unit[: -len(compact) - 1], shown
    base = unit.rpartition("_")[2]
    return unit, base if base in _COMPACT else unit


def unit_of(metric: str, unit: str) -> str:
    """The inverse of `metric_of`."""
    return metric if metric == unit or metric.endswith(f"_{unit}") else f"{metric}-{unit.replace(' ', '')}"


@dataclass(frozen=True, slots=True)
class ExportedUnit:
    """A `Unit` line: what benchstat may assume of a unit."""

    unit: str
    traits: MetricTraits


def format_go_bench(arms: Iterable[Arm], units: Iterable[ExportedUnit]) -> str:
    """Arms as text: their settings, then one line a boot and case. `benchstat -col arm` compares them."""
    lines = [f"Unit {each.unit} better={each.traits.better} assume={each.traits.assume}" for each in units]
    for arm in arms:
        lines += ["", *_settings(arm), *_results(arm)]
    return "\n".join(lines) + "\n"


def _settings(arm: Arm) -> Iterator[str]:
    """What tells the arms apart is one setting, `arm`: benchstat makes a table of its own for each further difference.

    The rest stands in lines that the format passes over.
    """
    for key, value in {"label": arm.label, **arm.facts}.items():
        yield f"# {arm.name} {key}: {' '.join(str(value).split())}"
    for key, setting in {"mode": arm.mode, "platform": arm.platform, "arm": arm.name}.items():
        if setting:
            yield f"{key}: {' '.join(setting.split())}"


def _results(arm: Arm) -> Iterator[str]:
    suite: str | None = None
    for boot in arm.boots:
        by_case: dict[object, list[str]] = {}
        for sample in boot.samples:
            by_case.setdefault(sample.case, []).append(f"{sample.value!r} {unit_of(sample.metric, sample.unit)}")
        for sample in boot.samples:
            measured = by_case.pop(sample.case, None)
            if measured is None:
                continue
            if sample.case.suite != suite:
                suite = sample.case.suite
                yield f"suite: {suite}"
            params = "".join(f"/{_encoded(name)}={_encoded(value)}" for name, value in sample.case.params)
            yield f"Benchmark{_OURS}{_encoded(sample.case.benchmark)}{params}-1 1 {' '.join(measured)}"


def _encoded(text: str) -> str:
    return quote(text, safe=_SAFE)
