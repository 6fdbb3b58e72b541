"""Reads the Go benchmark format; `go.writing` writes it.

Sources: golang.org/design/14313-benchmark-format, and golang.org/x/perf/benchfmt for `Unit` lines.

Cliffwatch writes names as `BenchmarkBPF/bench=NAME/PARAM=VALUE-1`:

- benchstat groups results by the parts of the name.
- The suffix is always 1. Without it, a parameter value such as `x-8` would be read as GOMAXPROCS.
- Characters with a meaning in the format are percent-encoded.

Comments hold what the format cannot express: facts about an arm, the boot of the results that follow, and the
step and readings of the value above. Other readers skip comments.
"""

import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from cliffwatch.parsers.cleaning import Line, clean_lines
from cliffwatch.parsers.go.context import BOOT, VALUE_COMMENT, GoContext, rename_arms
from cliffwatch.parsers.go.names import OURS, case_of, metric_of, unit_of
from cliffwatch.parsers.go.result_lines import ResultLines, number_distinct, result_lines
from cliffwatch.parsers.headings import names_both_sides, side_of
from cliffwatch.parsers.printed_digits import finest_steps, step_of, steps_of, with_finest_steps
from cliffwatch.parsers.readings import Found, Lost, Parsed, Problem, ProblemList, problem_at
from cliffwatch.parsers.received.wrapped_results import is_piece_of_result, join_wrapped_results
from cliffwatch.parsers.sample_table import SampleRow, SampleTable
from cliffwatch.samples import Assumed, Sample

_CONFIG = re.compile(r"(?P<key>[a-z][^\s:A-Z]*):\s*(?P<value>.*)")
_CHATTER = re.compile(r"^(?:PASS|FAIL|ok\s|---|===|\?\s|exit status|Unit\s|testing:|\s|#|$)")
_PREFIX = "Benchmark"
_OF_SIDES = re.compile("after|patch|with|w/", re.IGNORECASE)
_ARM = re.compile(r"(?m)^arm:")
_RESULT = re.compile(r"[>\s]{0,20}Benchmark\S")
_NANOSECONDS = re.compile(r"(?<![^-])ns(?=$|[-/])")
_MEGABYTES = re.compile(r"(?<![^-])MB(?=$|[-/])")


def parse_go_bench(text: str) -> Parsed:
    """Parses the Go benchmark format. Never raises.

    A result line gives one sample per unit, and counts as one boot of its case. Results under headings such
    as `Before:` and `After:` are of the arms base and head.
    """
    named = _with_arms(text)
    return _parse_at_once(named) or parse_go_lines(clean_lines(named))


def _with_arms(text: str) -> str:
    """Makes settings of the headings that name the sides of a comparison, if both have results.

    A benchmark that a side has again under another heading is of another machine or patch: its arm is
    numbered.
    """
    if _OF_SIDES.search(text) is None or _ARM.search(text) is not None:
        return text
    lines = text.split("\n")
    blocks: list[tuple[int, str, set[str]]] = []
    for number, line in enumerate(lines):
        if _RESULT.match(line):
            if blocks:
                blocks[-1][2].add(line.split("Benchmark", 1)[1].split(None, 1)[0])
        elif said := side_of(line):
            blocks.append((number, said, set()))
    if not names_both_sides(side for _, side, names in blocks if names):
        return text
    taken: dict[str, set[str]] = {}
    for number, side, names in blocks:
        numbered = (f"{side}-{count}" for count in itertools.count(2))
        arm = next(each for each in itertools.chain([side], numbered) if not taken.get(each, set()) & names)
        taken.setdefault(arm, set()).update(names)
        lines[number] = f"arm: {arm}"
    return "\n".join(lines)


def parse_go_lines(lines: Sequence[Line]) -> Parsed:
    """Like `parse_go_bench`, for lines that are cleaned already. Rejoins wrapped result lines."""
    found: list[Found] = []
    problems = ProblemList()
    beside = GoContext()
    assumed: dict[str, Assumed] = {}
    for line in join_wrapped_results(lines):
        words = line.text.split()
        if line.text.startswith("#"):
            beside.read(line.text, found)
        elif len(words) >= 4 and words[0].startswith(_PREFIX) and _is_delta(words[-1]):
            problems.append(problem_at(line.number, line.text, "a row of benchcmp's table; it was skipped"))
        elif (
            len(words) >= 4 and words[0].startswith(_PREFIX) and words[1].isdecimal() and len(words) % 2 == 0
        ):
            _read_result(words, beside, found, problems, line)
        else:
            _read_other(words, line, beside, assumed, problems)
    problems += beside.failures.problems(dict.fromkeys(each.sample.case for each in found))
    parsed = Parsed(
        found=with_finest_steps(found),
        problems=problems.in_order(),
        assumed=_of_values(assumed, dict.fromkeys((each.sample.metric, each.sample.unit) for each in found)),
        arms=beside.arms(),
    )
    return rename_arms(parsed, beside.names())


def _is_delta(word: str) -> bool:
    """True for the last column of benchcmp's table, which stands where a result has a unit."""
    return word[0] in "+-"


def _read_other(
    words: list[str], line: Line, beside: GoContext, assumed: dict[str, Assumed], problems: list[Problem]
) -> None:
    """Reads a line that is neither a result nor a comment."""
    if len(words) >= 3 and words[0] == "Unit":
        unit = _tidy_unit(words[1])
        assumed[unit] = _read_unit_words(words[2:], assumed.get(unit))
    elif beside.failures.read(line, beside.of_results):
        return
    elif setting := _CONFIG.fullmatch(line.text):
        beside.set(setting["key"], setting["value"].strip())
    elif not _CHATTER.match(line.text):
        problems.append(problem_at(line.number, line.text, "neither a result nor a setting; it was skipped"))


def _parse_at_once(text: str) -> Parsed | None:
    """Parses a text in bulk with numpy.

    Returns None if the text needs the parser that reads line by line: it has comments about boots or values,
    wrapped results, deltas of a table, or values that are not numbers.
    """
    lines = result_lines(text)
    if (
        lines is None
        or not lines.names
        or any(BOOT.fullmatch(each.text) or VALUE_COMMENT.fullmatch(each.text) for each in lines.others)
        or any(_is_delta(unit) for unit in set(lines.units))
        or any(is_piece_of_result(each.text) for each in lines.others)
    ):
        return None
    problems = ProblemList()
    beside, assumed = GoContext(), dict[str, Assumed]()
    origins: list[tuple[str, str]] = []
    following = np.searchsorted([each.number - 1 for each in lines.others], lines.numbers)
    with_results = frozenset(np.flatnonzero(np.bincount(following)).tolist())
    for place, line in enumerate([None, *lines.others]):
        if line is not None and line.text.startswith("#"):
            beside.read(line.text, [])
        elif line is not None:
            _read_other(line.text.split(), line, beside, assumed, problems)
        origins.append(beside.of_results() if place in with_results else ("", ""))
        if place in with_results:
            beside.result((), origins[-1][0])
    table = _table(lines, origins, following)
    if table is None:
        return None
    problems += beside.failures.problems(dict.fromkeys(row.case for row in table.rows))
    parsed = Parsed(
        found=table,
        problems=problems.in_order(),
        assumed=_of_values(assumed, dict.fromkeys((row.metric, row.unit) for row in table.rows)),
        arms=beside.arms(),
    )
    return rename_arms(parsed, beside.names())


def _table(
    lines: ResultLines, origins: Sequence[tuple[str, str]], following: NDArray[np.intp]
) -> SampleTable | None:
    """Builds the table of samples.

    `origins` holds pairs of arm and suite, `following` each line's index in it.

    Returns None if a value is not a finite number, or if two names are the same case.
    """
    try:
        values = np.fromiter(map(float, lines.texts), dtype=float, count=len(lines.texts))
    except ValueError:
        return None
    names, name_of = number_distinct(lines.names)
    units, unit_of = number_distinct(lines.units)
    different = list(
        dict.fromkeys(origins[place] for place in np.flatnonzero(np.bincount(following)).tolist())
    )
    number_of = {origin: number for number, origin in enumerate(different)}
    origin_of = np.array([number_of.get(origin, 0) for origin in origins], dtype=np.intp)[following]
    # One integer per value encodes its origin, name and unit.
    codes = (origin_of * len(names) + name_of)[lines.line_of] * len(units) + unit_of
    found, row_of = (
        number_distinct(codes.tolist()) if len(units) * len(different) > 1 else (range(len(names)), codes)
    )
    rows = [_row(code, different, names, units) for code in found]
    if not np.isfinite(values).all() or len(set(rows)) < len(rows):
        return None
    order = np.argsort(row_of, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(row_of, minlength=len(rows)))])
    steps = steps_of(lines.texts, units, unit_of)
    steps[
        np.array([name.startswith(_PREFIX + OURS) for name in names], dtype=bool)[name_of][lines.line_of]
    ] = 0.0
    return SampleTable(rows, starts, values[order], finest_steps(steps[order], starts), order)


def _row(
    code: int, origins: Sequence[tuple[str, str]], names: Sequence[str], units: Sequence[str]
) -> SampleRow:
    rest, unit = divmod(code, len(units))
    origin, name = divmod(rest, len(names))
    arm, suite = origins[origin]
    return SampleRow(arm, case_of(suite, names[name].removeprefix(_PREFIX)), *metric_of(units[unit]))


def _read_unit_words(words: list[str], before: Assumed | None) -> Assumed:
    """Parses the words of a `Unit` line, such as better=higher and assume=exact. Ignores other words."""
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


def _of_values(
    assumed: Mapping[str, Assumed], measured: Iterable[tuple[str, str]]
) -> dict[tuple[str, str], Assumed]:
    """Assigns the `Unit` lines to the metrics that have samples.

    A `Unit` line may stand anywhere, and may name a unit or its tidied form.
    """
    units = {key: _tidy_unit(unit_of(*key)) for key in measured}
    return {key: assumed[unit] for key, unit in units.items() if unit in assumed}


def _tidy_unit(unit: str) -> str:
    """Tidies a unit like golang.org/x/perf/benchunit.Tidy: ns/op becomes sec/op, MB/s becomes B/s.

    Unit metadata apply to tidied units.
    """
    return _NANOSECONDS.sub("sec", _MEGABYTES.sub("B", unit))


def _read_result(
    words: list[str], beside: GoContext, found: list[Found], problems: list[Problem], line: Line
) -> None:
    """Reads a result line. `words` are the name, the iterations, then pairs of number and unit."""
    name = words[0].removeprefix(_PREFIX)
    arm, suite = beside.of_results()
    ours, case, origin = name.startswith(OURS), case_of(suite, name), beside.origin
    beside.result(found, arm)
    for place in range(2, len(words), 2):
        amount, unit = words[place], words[place + 1]
        try:
            value = float(amount)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            reason = f"'{amount[:40]}' is not a number"
            metric, _ = metric_of(unit)
            problems.append(problem_at(line.number, line.text, reason, Lost(case, metric=metric, arm=arm)))
            continue
        metric, shown = metric_of(unit)
        step = 0.0 if ours else step_of(amount, unit)
        sample = Sample(case, metric, shown, value, (), step)
        found.append(Found(sample, arm, origin))
