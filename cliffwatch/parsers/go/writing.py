"""Writes the Go benchmark format for benchstat and for Cliffwatch's own parser (see `go_bench`)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from cliffwatch.parsers.go.names import OURS, unit_of
from cliffwatch.samples import Arm, Boot, CaseKey, CaseOutcome, MetricTraits, Sample

_SAFE = "._:+,()"
_SKIPPED = ("unsupported", "not-run", "unchanged-build")


@dataclass(frozen=True, slots=True)
class ExportedUnit:
    """A `Unit` line: the properties of a unit that benchstat uses."""

    unit: str
    traits: MetricTraits


def go_bench_lines(
    arms: Iterable[Arm],
    units: Iterable[ExportedUnit],
    *,
    settings: Mapping[str, str] | None = None,
    of_run: Sequence[Arm] = (),
) -> Iterator[str]:
    """Yields the lines of arms: settings, then one per boot and case. Iterates over the boots only once.

    `settings` are those of the whole run. `of_run` are all arms of the run: their commits are written even if
    only some arms are exported. `benchstat -col arm` compares the arms.
    """
    arms = tuple(arms)
    yield from map(_unit, units)
    commits = {f"{arm.name}-commit": arm.facts.get("commit", "") for arm in of_run or arms}
    yield from (f"{key}: {value}" for key, value in {**commits, **(settings or {})}.items() if value)
    known = dict.fromkeys(key for arm in arms for key in arm.environment)
    for arm in arms:
        yield ""
        yield from _settings(arm, known)
        yield from _results(arm)


def _unit(each: ExportedUnit) -> str:
    better = f" better={each.traits.better}" if each.traits.better is not None else ""
    return f"Unit {each.unit}{better} assume={each.traits.assume}"


def _settings(arm: Arm, known: Iterable[str]) -> Iterator[str]:
    """Yields the settings of an arm.

    Comparable arms have the same settings except `arm`: benchstat makes a separate table for each further
    difference. Facts about the arm alone are therefore written as comments, which benchstat skips.
    """
    for key, value in {"label": arm.label, **arm.facts}.items():
        if key != "commit":
            yield f"# {arm.name} {key}: {_one_line(value)}"
    for warning in arm.told:
        yield f"# {arm.name} warning: {_one_line(warning)}"
    environment = {key: arm.environment.get(key, "") for key in known}
    for key, setting in {"mode": arm.mode, "platform": arm.platform, **environment, "arm": arm.name}.items():
        yield f"{key}: {_one_line(setting or '')}".rstrip()


def _one_line(value: object) -> str:
    return " ".join(str(value).split())


def _results(arm: Arm) -> Iterator[str]:
    suite: str | None = None
    for boot in arm.boots:
        yield _boot(boot)
        by_case: dict[object, list[Sample]] = {}
        for sample in boot.samples:
            by_case.setdefault(sample.case, []).append(sample)
        for samples in by_case.values():
            case = samples[0].case
            if case.suite != suite:
                suite = case.suite
                yield f"suite: {suite}"
            measured = " ".join(f"{each.value!r} {unit_of(each.metric, each.unit)}" for each in samples)
            yield f"{_name(case)} 1 {measured}"
            yield from _write_value_comments(samples)
        for outcome in boot.outcomes:
            if outcome.status == "ok":
                continue
            if outcome.case.suite != suite:
                suite = outcome.case.suite
                yield f"suite: {suite}"
            yield from _outcome(outcome)


def _outcome(outcome: CaseOutcome) -> Iterator[str]:
    """Yields a missing result in Go's form, with the status on the next line."""
    yield f"--- {'SKIP' if outcome.status in _SKIPPED else 'FAIL'}: {_name(outcome.case)}"
    yield f"    {outcome.status}: {_one_line(outcome.reason)}"


def _name(case: CaseKey) -> str:
    params = "".join(f"/{_encode_name(name)}={_encode_name(value)}" for name, value in case.params)
    return f"Benchmark{OURS}{_encode_name(case.benchmark)}{params}-1"


def _boot(boot: Boot) -> str:
    layout = f", layout {_encode_name(boot.layout)}" if boot.layout else ""
    return f"# boot {boot.index} of block {boot.block}, {boot.stage}{layout}"


def _write_value_comments(samples: Sequence[Sample]) -> Iterator[str]:
    """Yields the step of the printed digits and the readings as comments: the format cannot express them."""
    for each in samples:
        if each.resolution or each.readings:
            readings = f" readings {' '.join(map(repr, each.readings))}" if each.readings else ""
            yield f"#   {unit_of(each.metric, each.unit)} step {each.resolution!r}{readings}"


def _encode_name(text: str) -> str:
    return quote(text, safe=_SAFE)
