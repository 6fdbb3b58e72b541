"""Splits an output into the runs of benchmarks that it holds, each with its lines."""

from collections.abc import Sequence

from cliffwatch.parsers.bench.kind import Reading, Section
from cliffwatch.parsers.bench.lines import LIBBPF, SET_UP, KnownLine, is_chatter, recognise
from cliffwatch.parsers.cleaning import Line
from cliffwatch.readings import Problem, problem_at


def split(lines: Sequence[Line], benchmark: str | None, problems: list[Problem]) -> list[Section]:
    """The runs of an output: a banner begins one, and so does a result of another kind or after a Summary.

    `benchmark` names a run without a banner; lines that no run can have are added to `problems`.
    """
    sections: list[Section] = []
    for line in lines:
        banner = SET_UP.fullmatch(line.text.strip())
        if banner:
            sections.append(Section(name=banner["name"], line=line.number))
            continue
        known = recognise(line.text)
        if known is None:
            _unknown(line, sections, problems)
            continue
        if not sections or _begins_another(known, sections[-1]):
            sections.append(Section(name=benchmark, line=line.number))
        _take(known, line, sections[-1])
    return sections


def _begins_another(known: KnownLine, section: Section) -> bool:
    if known.role in ("failure", "doubt"):
        return False
    if section.kind is not None and section.kind is not known.kind:
        return True
    return known.role == "iter" and bool(section.summary) and known.kind.lines_per_reading == 1


def _unknown(line: Line, sections: list[Section], problems: list[Problem]) -> None:
    libbpf = LIBBPF.fullmatch(line.text.strip())
    if libbpf and sections:
        sections[-1].failures.append((line.number, libbpf["text"]))
    elif libbpf:
        problems.append(problem_at(line.number, line.text, f"failed: {libbpf['text']}"))
    elif not is_chatter(line.text):
        problems.append(
            problem_at(line.number, line.text, "not a line that bench is known to print; it was passed over")
        )


def _take(known: KnownLine, line: Line, section: Section) -> None:
    fields = known.numbers()
    if known.role == "failure":
        _take_failure(known, line, section)
        return
    if known.role == "doubt":
        section.doubts.append((line.number, known.fields.get("doubt", line.text)))
        return
    section.kind = known.kind
    section.units.update({name: known.fields[name] for name in ("letter", "time") if name in known.fields})
    if known.role == "iter":
        _take_reading(known, fields, section)
    elif known.role == "summary":
        section.summary.update(fields)
        section.summary_line = line.number
    else:
        section.finals.append((known.fields, fields))


def _take_reading(known: KnownLine, fields: dict[str, float], section: Section) -> None:
    last = section.readings[-1] if section.readings else None
    if known.kind.lines_per_reading > 1 and last is not None and last.fields.get("iter") == fields.get("iter"):
        section.readings[-1] = Reading({**last.fields, **fields}, last.seconds)
        return
    section.readings.append(Reading(fields, 1.0 + fields.get("jitter", 0.0) / 1e6))


def _take_failure(known: KnownLine, line: Line, section: Section) -> None:
    if "failure" in known.fields:
        section.kind = section.kind or known.kind
        section.failures.append((line.number, known.fields["failure"]))
    elif int(known.fields["errors"]) or int(known.fields["create"]):
        section.doubts.append((line.number, f"errors while it ran: {line.text.strip()}"))
