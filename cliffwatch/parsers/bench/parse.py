"""Parses what the kernel's `bench` prints. Total: whatever the text, values and problems come back."""

import math
from collections.abc import Mapping, Sequence

from cliffwatch.parsers.bench.averages import Measured, Reading, Section, disagreement, numbers, values_of, warm
from cliffwatch.parsers.bench.kinds import KIND_METRICS
from cliffwatch.parsers.bench.lines import LIBBPF, SET_UP, Found, is_chatter, recognise
from cliffwatch.parsers.cleaning import Line, clean_lines
from cliffwatch.readings import Parsed, Problem, Value

_SHOWN = 400


def parse_bench(
    text: str,
    *,
    stderr: str = "",
    warmup: int | None = None,
    suite: str | None = None,
    benchmark: str | None = None,
    params: Mapping[str, str] | None = None,
) -> Parsed:
    """Values of one or several runs of `bench` in one text.

    `stderr` is what the same run wrote to standard error: libbpf's reasons come from there. `warmup` is the `-w` of the
    run; None lets the Summary tell. `benchmark` names the only run of the text where its banner is missing; `params` are
    those that it was started with.
    """
    problems: list[Problem] = []
    sections = _sections(clean_lines(text), benchmark, problems)
    complaints = _complaints(clean_lines(stderr))
    values: list[Value] = []
    for section in sections:
        values += _read(section, sections, complaints, problems, warmup, suite, params or {})
    if not sections and complaints:
        problems.append(Problem(line=0, text=complaints[0][:_SHOWN], reason=f"failed: {complaints[0]}"))
    problems.sort(key=lambda problem: problem.line)
    return Parsed(values=tuple(values), problems=tuple(problems))


def _sections(lines: Sequence[Line], benchmark: str | None, problems: list[Problem]) -> list[Section]:
    """Splits the lines into runs: a banner begins one, and so does a result of another kind or after a Summary."""
    sections: list[Section] = []
    for line in lines:
        banner = SET_UP.fullmatch(line.text.strip())
        if banner:
            sections.append(Section(name=banner["name"], line=line.number))
            continue
        found = recognise(line.text)
        if found is None:
            _unknown(line, sections, problems)
            continue
        if not sections or _begins_another(found, sections[-1]):
            sections.append(Section(name=benchmark, line=line.number))
        _take(found, line, sections[-1])
    return sections


def _begins_another(found: Found, section: Section) -> bool:
    if found.form.role in ("failure", "doubt"):
        return False
    if section.kind is not None and section.kind != found.form.kind:
        return True
    return found.form.role == "iter" and bool(section.summary) and section.kind != "tasks-trace"


def _unknown(line: Line, sections: list[Section], problems: list[Problem]) -> None:
    libbpf = LIBBPF.fullmatch(line.text.strip())
    if libbpf and sections:
        sections[-1].failures.append((line.number, libbpf["text"]))
    elif libbpf:
        problems.append(_problem(line.number, line.text, f"failed: {libbpf['text']}"))
    elif not is_chatter(line.text):
        problems.append(_problem(line.number, line.text, "not a line that bench is known to print; it was passed over"))


def _problem(number: int, text: str, reason: str) -> Problem:
    return Problem(line=number, text=text[:_SHOWN], reason=reason[:_SHOWN])


def _take(found: Found, line: Line, section: Section) -> None:
    fields = numbers(found)
    role = found.form.role
    if role == "failure":
        _take_failure(found, line, section)
        return
    if role == "doubt":
        section.doubts.append((line.number, found.fields.get("doubt", line.text)))
        return
    section.kind = found.form.kind
    section.units.update({name: found.fields[name] for name in ("letter", "time") if name in found.fields})
    if role == "iter":
        _take_reading(fields, section)
    elif role == "summary":
        section.summary.update(fields)
        section.summary_line = line.number
    else:
        section.finals.append((found.fields, fields))


def _take_reading(fields: dict[str, float], section: Section) -> None:
    """tasks-trace prints two lines an iteration: they are one reading."""
    last = section.readings[-1] if section.readings else None
    if section.kind == "tasks-trace" and last is not None and last.fields.get("iter") == fields.get("iter"):
        section.readings[-1] = Reading({**last.fields, **fields}, last.seconds)
        return
    section.readings.append(Reading(fields, 1.0 + fields.get("jitter", 0.0) / 1e6))


def _take_failure(found: Found, line: Line, section: Section) -> None:
    if "failure" in found.fields:
        section.kind = section.kind or found.form.kind
        section.failures.append((line.number, found.fields["failure"]))
    elif int(found.fields["errors"]) or int(found.fields["create"]):
        section.doubts.append((line.number, f"errors while it ran: {line.text.strip()}"))


def _complaints(lines: Sequence[Line]) -> list[str]:
    """What standard error says, libbpf's own words first, as the first of them names the cause."""
    texts = [line.text.strip() for line in lines if line.text.strip()]
    of_libbpf = [match["text"] for text in texts if (match := LIBBPF.fullmatch(text))]
    return of_libbpf + [text for text in texts if not LIBBPF.fullmatch(text)]


def _read(
    section: Section,
    sections: Sequence[Section],
    complaints: Sequence[str],
    problems: list[Problem],
    warmup: int | None,
    suite: str | None,
    params: Mapping[str, str],
) -> list[Value]:
    name = section.name or "unknown"
    kept = warm(section, warmup) if section.readings else []
    rows = list(values_of(section, kept))
    failure = _failure(section, rows, complaints if section is sections[-1] else ())
    if failure is not None:
        problems.append(_problem(*failure))
        return []
    problems += [_problem(number, name, f"doubtful: {text}") for number, text in section.doubts]
    if section.readings and not section.summary:
        problems.append(_problem(section.line, name, "the output ends before the Summary: it was cut off"))
    elif (doubt := disagreement(section, kept)) is not None:
        problems.append(_problem(section.summary_line, name, doubt))
    good = [row for row in rows if math.isfinite(row.value) and all(map(math.isfinite, row.samples))]
    for row in rows:
        if row not in good:
            problems.append(_problem(section.summary_line or section.line, name, f"{row.metric} is no number"))
    return [_value(row, suite, name, params) for row in good]


def _failure(section: Section, rows: Sequence[Measured], complaints: Sequence[str]) -> tuple[int, str, str] | None:
    """Why a run measured nothing, as (line, text, reason); None if it measured something."""
    name = section.name or "unknown"
    reason = section.failures[0][1] if section.failures else (complaints[0] if complaints else "")
    if section.kind is None or not rows:
        why = reason or "it ended without a result"
        return section.line, f"Setting up benchmark '{name}'...", f"failed: {why}"
    if section.failures and not section.summary and not section.readings:
        return section.failures[0][0], name, f"failed: {reason}"
    if _nothing_ran(section.kind, rows):
        return section.summary_line or section.line, name, f"failed: zero operations, so nothing ran{_because(reason)}"
    return None


def _nothing_ran(kind: str, rows: Sequence[Measured]) -> bool:
    """Whether all rates are zero. Drops count as operations: hashmap-without-bloom prints nothing but drops."""
    if kind == "false-hits":
        return False
    higher = [row.value for row in rows if KIND_METRICS[kind][row.metric].better == "higher" or row.metric == "drops"]
    return bool(higher) and not any(higher)


def _because(reason: str) -> str:
    return f" ({reason})" if reason else ""


def _value(row: Measured, suite: str | None, name: str, params: Mapping[str, str]) -> Value:
    return Value(
        suite=suite,
        benchmark=name,
        params={**params, **row.params},
        metric=row.metric,
        unit=row.unit,
        value=row.value,
        samples=row.samples,
        resolution=row.resolution,
    )
