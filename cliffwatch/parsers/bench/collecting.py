"""Collects the recognised lines of one run of bench."""

from cliffwatch.parsers.bench.kind import BenchOutput, Reading
from cliffwatch.parsers.bench.lines import KnownLine
from cliffwatch.parsers.cleaning import Line


def take(known: KnownLine, line: Line, output: BenchOutput) -> None:
    """Adds a recognised line to its output."""
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
    if (
        known.kind.lines_per_reading > 1
        and last is not None
        and last.fields.get("iter") == fields.get("iter")
    ):
        output.readings[-1] = Reading({**last.fields, **fields}, last.seconds)
        return
    output.readings.append(Reading(fields, 1.0 + fields.get("jitter", 0.0) / 1e6))


def _take_failure(known: KnownLine, line: Line, output: BenchOutput) -> None:
    if "failure" in known.fields:
        output.kind = output.kind or known.kind
        output.failures.append((line.number, known.fields["failure"]))
    elif int(known.fields["errors"]) or int(known.fields["create"]):
        output.doubts.append((line.number, f"errors while it ran: {line.text.strip()}"))
