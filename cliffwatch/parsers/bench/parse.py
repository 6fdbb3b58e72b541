"""Parses the output of the kernel's `bench`. Never raises: it returns samples and problems for any text."""

import bisect
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from cliffwatch.counting import count_noun
from cliffwatch.parsers.bench.averages import DOUBTFUL, values_of
from cliffwatch.parsers.bench.kind import STEP, BenchOutput, Kind, MetricValue, Reading
from cliffwatch.parsers.bench.lines import LIBBPF
from cliffwatch.parsers.bench.outputs import split
from cliffwatch.parsers.cleaning import Line, clean_lines
from cliffwatch.parsers.headings import without_count
from cliffwatch.parsers.printed_digits import step_of
from cliffwatch.parsers.readings import Found, Lost, Parsed, Problem, ProblemList, problem_at
from cliffwatch.parsers.splats import find_splats
from cliffwatch.samples import CaseKey, Sample

_LOAD_FAILED = re.compile(r"program load failed|failed to load object", re.IGNORECASE)
"""Messages of libbpf after which a benchmark does not run. Others come with good results too."""


def parse_bench(
    text: str,
    *,
    stderr: str = "",
    warmup: int | None = None,
    suite: str = "",
    benchmark: str | None = None,
    params: Mapping[str, str] | None = None,
) -> Parsed:
    """Parses the output of one or several runs of `bench`.

    - `stderr` is the standard error of the same run. libbpf's reasons come from there.
    - `warmup` is the `-w` of the run. None chooses the value that fits the Summary.
    - `benchmark` names the only run of a text without a banner.
    - `params` are the parameters of the run.

    Results under headings such as `Before:` and `After:` are of the arms base and head.
    """
    problems = ProblemList()
    bare = benchmark is None and params is None
    outputs = split(clean_lines(text), benchmark, problems, bare=bare)
    if bare:
        tell_apart(outputs, problems)
    _add_splats(outputs, text)
    complaints = _complaints(clean_lines(stderr))
    found: list[Found] = []
    for output in outputs:
        of_output, told = {**(params or {}), **output.params}, len(problems)
        read = _read(output, outputs, complaints, problems, warmup, suite, of_output)
        found += [each._replace(arm=output.side) for each in read] if output.side else read
        if output.side:
            problems[told:] = [_of_side(each, output.side) for each in problems[told:]]
    if not outputs and complaints:
        problems.append(problem_at(0, complaints[0], f"failed: {complaints[0]}"))
    return Parsed(found=tuple(found), problems=problems.in_order())


def _of_side(problem: Problem, side: str) -> Problem:
    lost = None if problem.lost is None else problem.lost._replace(arm=side)
    return replace(problem, lost=lost)


def _add_splats(outputs: Sequence[BenchOutput], text: str) -> None:
    """Adds a doubt to each output that an error report of the kernel stands in."""
    ends = [each.line for each in outputs[1:]]
    for splat in find_splats(text) if outputs else ():
        output = outputs[bisect.bisect_left(ends, splat.line)]
        if output.line < splat.line and not 0 < output.summary_line < splat.line:
            said = f"the kernel printed an error report while it ran: {splat.title}"
            output.doubts.append((splat.line, said))


def _complaints(lines: Sequence[Line]) -> list[str]:
    """Returns the lines of standard error, libbpf's first: its first message names the cause."""
    texts = [line.text.strip() for line in lines if line.text.strip()]
    of_libbpf = [match["text"] for text in texts if (match := LIBBPF.fullmatch(text))]
    return of_libbpf + [text for text in texts if not LIBBPF.fullmatch(text)]


def _read(
    output: BenchOutput,
    outputs: Sequence[BenchOutput],
    complaints: Sequence[str],
    problems: list[Problem],
    warmup: int | None,
    suite: str,
    params: Mapping[str, str],
) -> list[Found]:
    name = output.name or "unknown"
    kept = _drop_late(output, drop_warmup(output, warmup)) if output.readings else []
    rows = list(values_of(output.kind, output, kept)) if output.kind else []
    whole = CaseKey(suite, name, tuple(params.items()))
    failure = _failure(output, rows, complaints if output is outputs[-1] else ())
    if failure is not None:
        lost = Lost(whole, why=failure.reason.removeprefix("failed: ")) if output.name else None
        problems.append(replace(failure, lost=lost))
    if failure is not None or output.kind is None:
        return []
    good = [row for row in rows if math.isfinite(row.value) and all(map(math.isfinite, row.samples))]
    samples = [_sample(row, output.kind, suite, name, params) for row in good]
    doubts = list(_doubts(output, kept, name))
    problems += doubts[1:]
    for case in dict.fromkeys([sample.case for sample in samples] or [whole]) if doubts else ():
        problems.append(replace(doubts[0], lost=Lost(case)))
    for row in rows:
        if row not in good:
            lost = Lost(whole._replace(params=(*whole.params, *row.params.items())), metric=row.metric)
            problems.append(
                problem_at(output.summary_line or output.line, name, f"{row.metric} is not a number", lost)
            )
    if output.slab is not None and samples and "memory" not in output.kind.metrics:
        samples.append(_of_slab(output.slab, samples[0].case))
    return [Found(sample, doubted=bool(doubts)) for sample in samples]


def _doubts(output: BenchOutput, kept: Sequence[Reading], name: str) -> Iterator[Problem]:
    """Yields the reasons why the results of a run are not credible."""
    yield from (problem_at(number, name, f"doubtful: {text}") for number, text in output.doubts)
    for number, text in output.failures:
        if _LOAD_FAILED.search(text):
            yield problem_at(number, name, f"doubtful: a load failed while it ran: {text}")
    if output.readings and not output.summary:
        yield problem_at(output.line, name, "the output ends before the Summary: it was cut off")
    elif (doubt := find_disagreement(output, kept)) is not None:
        yield problem_at(output.summary_line, name, doubt)


def _of_slab(mib: str, case: CaseKey) -> Sample:
    return Sample(case, "memory", "MiB", float(mib), (), step_of(mib, "MiB"))


def _failure(output: BenchOutput, rows: Sequence[MetricValue], complaints: Sequence[str]) -> Problem | None:
    """Explains why a run measured nothing. None if it measured something."""
    name = output.name or "unknown"
    reason = output.failures[0][1] if output.failures else (complaints[0] if complaints else "")
    if output.kind is None or not rows:
        why = reason or "it ended without a result"
        return problem_at(output.line, f"Setting up benchmark '{name}'...", f"failed: {why}")
    if output.failures and not output.summary and not output.readings:
        return problem_at(output.failures[0][0], name, f"failed: {reason}")
    if _nothing_ran(output.kind, rows):
        why = f"failed: zero operations, so nothing ran{_parenthesize_reason(reason)}"
        return problem_at(output.summary_line or output.line, name, why)
    return None


def _nothing_ran(kind: Kind, rows: Sequence[MetricValue]) -> bool:
    """True if all rates are zero, including those of dropped operations."""
    rates = [
        row.value for row in rows if kind.metrics[row.metric].better == "higher" or row.metric == kind.dropped
    ]
    return bool(rates) and not any(rates)


def _parenthesize_reason(reason: str) -> str:
    return f" ({reason})" if reason else ""


def _sample(row: MetricValue, kind: Kind, suite: str, name: str, params: Mapping[str, str]) -> Sample:
    return Sample(
        case=CaseKey(suite, name, tuple({**params, **row.params}.items())),
        metric=row.metric,
        unit=kind.metrics[row.metric].unit,
        value=row.value,
        readings=row.samples,
        resolution=row.resolution,
    )


def drop_warmup(output: BenchOutput, warmup: int | None) -> list[Reading]:
    """Returns the readings after warm-up.

    bench summarises the readings from `-w` on, but does not print `-w`. If `warmup` is None, the warm-up is
    the number of readings that reproduces the Summary's mean, or else 1.
    """
    count = len(output.readings)
    if warmup is None:
        warmup = _fitting_warmup(output)
    return output.readings[warmup:] if warmup < count else output.readings[-1:]


def _fitting_warmup(output: BenchOutput) -> int:
    name = output.kind.rate if output.kind else None
    if name is None or name not in output.summary or len(output.readings) < 3:
        return 1
    target = output.summary[name]

    def distance(warmup: int) -> float:
        kept = output.readings[warmup:]
        mean = sum(each.fields.get(name, math.nan) * each.seconds for each in kept) / len(kept)
        return abs(mean - target) if math.isfinite(mean) else math.inf

    best = min(range(1, len(output.readings)), key=distance)
    return 1 if distance(1) <= distance(best) + STEP else best


def _drop_late(output: BenchOutput, kept: list[Reading]) -> list[Reading]:
    """Drops a last reading that the Summary leaves out.

    On a busy host bench's timer can fire once more between the last measurement and the Summary.
    """
    if len(kept) < 2 or find_disagreement(output, kept) is None:
        return kept
    earlier = kept[:-1]
    return kept if find_disagreement(output, earlier) is not None else earlier


def find_disagreement(output: BenchOutput, kept: Sequence[Reading]) -> str | None:
    """Describes a disagreement between Summary and Iter lines. None if they agree.

    Differences from rounding and slipped intervals are tolerated.
    """
    if output.kind is None or not kept:
        return None
    for name in (output.kind.rate, output.kind.level):
        if name is None or name not in output.summary or name not in kept[0].fields:
            continue
        numbers = [each.fields[name] * (each.seconds if name == output.kind.rate else 1.0) for each in kept]
        mean, summary = sum(numbers) / len(numbers), output.summary[name]
        if math.isfinite(mean) and not math.isfinite(summary):
            return f"the Summary is not a number, but the Iter lines average {mean:g}"
        if abs(mean - summary) > max(DOUBTFUL * abs(summary), 10 * STEP):
            return (
                f"the Summary says {summary:g}, but the Iter lines average {mean:g}: readings are missing "
                f"or were changed"
            )
    return None


_PRODUCERS = "producers"
_SECTION = "section"
_SHARP = 0.05
"""Smaller rates have too few printed digits to derive the number of producers from them."""


def tell_apart(outputs: Sequence[BenchOutput], problems: list[Problem]) -> None:
    """Adds the heading to outputs that stand under different ones, and the number of producers to those that
    differ in it.

    Reports the outputs that are read as boots.
    """
    groups: dict[tuple[object, ...], list[BenchOutput]] = {}
    for output in outputs:
        if output.kind is not None:
            groups.setdefault((output.name, *output.params.items()), []).append(output)
    for group in groups.values():
        for part in _under_headings(group):
            counts = [_producers(each) for each in part]
            if len(set(counts)) > 1 and None not in counts:
                for output, count in zip(part, counts, strict=True):
                    if count != 1:
                        output.params[_PRODUCERS] = str(count)
            _tell_of_boots(part, problems)


def _under_headings(group: Sequence[BenchOutput]) -> Iterator[Sequence[BenchOutput]]:
    """Yields the outputs of one name by side and heading.

    The heading becomes a parameter on both sides if a side has the name under several: two machines in one
    mail, or two versions of a patch. The rows of a script's table stand directly under theirs.
    """
    rows = all(each.kind is not None and each.kind.row_of is not None for each in group)
    ways = (
        [without_count(each.above) for each in group] if rows else [],
        [without_count(each.alone) for each in group],
        [without_count(each.said) for each in group],
    )
    headings = next((each for each in ways if _differ_on_a_side(group, each)), ["" for _ in group])
    parts: dict[tuple[str, str], list[BenchOutput]] = {}
    for output, heading in zip(group, headings, strict=True):
        parts.setdefault((output.side, heading), []).append(output)
        if heading:
            output.params[_SECTION] = heading
    yield from parts.values()


def _differ_on_a_side(group: Sequence[BenchOutput], headings: Sequence[str]) -> bool:
    pairs = set(zip((each.side for each in group), headings, strict=False))
    return len(pairs) > len({side for side, _ in pairs})


def _producers(output: BenchOutput) -> int | None:
    """Derives the number of producers from the total rate and the rate of one.

    None if the lines lack either.
    """
    if _PRODUCERS in output.params:
        return None
    for fields in (output.summary, *(each.fields for each in reversed(output.readings))):
        whole, one = fields.get("hits", math.nan), fields.get("per_prod", math.nan)
        if math.isfinite(whole) and math.isfinite(one) and one >= _SHARP:
            return max(1, round(whole / one))
    return None


def _tell_of_boots(group: Sequence[BenchOutput], problems: list[Problem]) -> None:
    """Reports outputs that are read as boots of one case.

    With a banner that is certain, without one it is a guess.
    """
    bare: dict[str, list[BenchOutput]] = {}
    for each in group:
        if not each.framed:
            bare.setdefault(each.params.get(_PRODUCERS, ""), []).append(each)
    for alike in bare.values():
        if len(alike) > 1:
            name = alike[0].name or "unknown"
            what = (
                f"{count_noun(len(alike), 'output')} of '{name}' cannot be distinguished:"
                " they were read as boots of one case"
            )
            problems.append(problem_at(alike[0].line, name, what))
