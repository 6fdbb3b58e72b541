"""Splits a text into what each run of bench printed."""

from collections.abc import Sequence

from cliffwatch.parsers.bench.kind import BenchOutput, Reading
from cliffwatch.parsers.bench.lines import LIBBPF, SET_UP, SLAB, KnownLine, is_chatter, recognise
from cliffwatch.parsers.cleaning import Line
from cliffwatch.parsers.readings import Problem, problem_at


def split(lines: Sequence[Line], benchmark: str | None, problems: list[Problem]) -> list[BenchOutput]:
    """The outputs in a text: a banner begins one, and so does a result of another kind or after a Summary.

    `benchmark` names a run without a banner; lines that no run can have are added to `problems`.
    """
    outputs: list[BenchOutput] = []
    for line in lines:
        banner = SET_UP.fullmatch(line.text.strip())
        if banner:
            outputs.append(BenchOutput(name=banner["name"], line=line.number))
            continue
        known = recognise(line.text)
        if known is None:
            _unknown(line, outputs, problems)
            continue
        if not outputs or _begins_another(known, outputs[-1]):
            outputs.append(BenchOutput(name=benchmark, line=line.number))
        _take(known, line, outputs[-1])
    return outputs


def _begins_another(known: KnownLine, output: BenchOutput) -> bool:
    if known.role in ("failure", "doubt"):
        return False
    if output.kind is not None and output.kind is not known.kind:
        return True
    return known.role == "iter" and bool(output.summary) and known.kind.lines_per_reading == 1


def _unknown(line: Line, outputs: list[BenchOutput], problems: list[Problem]) -> None:
    libbpf = LIBBPF.fullmatch(line.text.strip())
    slab = SLAB.fullmatch(line.text.strip())
    if slab and outputs:
        outputs[-1].slab = slab["mib"]
    elif libbpf and outputs:
        outputs[-1].failures.append((line.number, libbpf["text"]))
    elif libbpf:
        problems.append(problem_at(line.number, line.text, f"failed: {libbpf['text']}"))
    elif not is_chatter(line.text):
        problems.append(problem_at(line.number, line.text, "not a line that bench is known to print; it was skipped"))


def _take(known: KnownLine, line: Line, output: BenchOutput) -> None:
    fields = known.numbers()
    if known.role == "failure":
        _take_failure(known, line, output)
        return
    if known.role == "doubt":
        output.doubts.append((line.number, known.fields.get("doubt", line.text)))
        return
    output.kind = known.kind
    output.units.update({name: known.fields[name] for name in ("letter", "time") if name in known.fields})
    if known.role == "iter":
        _take_reading(known, fields, output)
    elif known.role == "summary":
        output.summary.update(fields)
        output.summary_line = line.number
    else:
        output.finals.append((known.fields, fields))


def _take_reading(known: KnownLine, fields: dict[str, float], output: BenchOutput) -> None:
    last = output.readings[-1] if output.readings else None
    if known.kind.lines_per_reading > 1 and last is not None and last.fields.get("iter") == fields.get("iter"):
        output.readings[-1] = Reading({**last.fields, **fields}, last.seconds)
        return
    output.readings.append(Reading(fields, 1.0 + fields.get("jitter", 0.0) / 1e6))


def _take_failure(known: KnownLine, line: Line, output: BenchOutput) -> None:
    if "failure" in known.fields:
        output.kind = output.kind or known.kind
        output.failures.append((line.number, known.fields["failure"]))
    elif int(known.fields["errors"]) or int(known.fields["create"]):
        output.doubts.append((line.number, f"errors while it ran: {line.text.strip()}"))
