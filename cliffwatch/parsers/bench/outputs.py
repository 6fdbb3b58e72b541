"""Splits a text into the outputs of the runs of bench, and adds facts from the text around them."""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from cliffwatch.parsers.bench.around import Command, command_of, labels_of
from cliffwatch.parsers.bench.kind import BenchOutput, Reading
from cliffwatch.parsers.bench.lines import LIBBPF, SET_UP, SLAB, STARTED, KnownLine, is_chatter, recognise
from cliffwatch.parsers.cleaning import Line, begins_output
from cliffwatch.parsers.headings import LONGEST_TITLE, Headings, names_both_sides, side_of
from cliffwatch.parsers.readings import ProblemList, problem_at

_MOST_PIECES = 4
"""The most pieces of a line that mail wrapped."""

_SKIPPED = "not a line that bench prints; it was skipped"
_SHORT = 80
_UNDERLINE = re.compile(r"=+")
_ROW_BEGINS = re.compile(r"\S\s+(?:(?<!important_hits )throughput|per-prod-op): ")
"""What stands early in the rows of scripts that are longer than a line of mail."""
_GREPPED = re.compile(r"(?P<file>[^\s:]{1,200}):(?:\d{1,9}:)?\s*(?=Summary: )")
"""What grep prints before a line of one of several files."""
_BENCHMARK = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)+")
_IDENTIFYING = ("cpu", "scenario", "name")
"""Fields that no two final lines of one output share."""


def split(
    lines: Sequence[Line], benchmark: str | None, problems: ProblemList, *, bare: bool = True
) -> list[BenchOutput]:
    """Splits a text into outputs.

    A banner begins one, as does a result of another kind, a result after a Summary or a command line, and a
    line that the output has already.

    - `benchmark` is the name of a run without a banner.
    - `problems` receives the lines that bench does not print.
    - `bare` means that the caller does not know the parameters. They are then taken from command lines and
      labels, and the sides of a comparison from headings.
    """
    splitting = _Splitting(benchmark, problems, bare=bare)
    place = 0
    while place < len(lines):
        place += splitting.read(lines, place)
    outputs = splitting.outputs
    _settle_sides(outputs)
    # `Benchmark 'x' started.` alone is not an output: it is prose, or a part of an output from elsewhere.
    return (
        outputs
        if len(outputs) > 1 or any(each.framed or each.kind or each.failures for each in outputs)
        else []
    )


def _settle_sides(outputs: Sequence[BenchOutput]) -> None:
    """Forgets the sides unless results stand on both. What stands under neither heading is `other` then."""
    both = names_both_sides(each.side for each in outputs if each.kind is not None)
    for output in outputs:
        output.side = (output.side or "other") if both else ""


@lru_cache(maxsize=1 << 14)
def _is_meaningless(text: str) -> bool:
    """True if a line means nothing in any context.

    The results are cached, because foreign texts repeat their short lines, often by the million.
    """
    return not (
        is_chatter(text)
        or begins_output(text)
        or _begins_row(text)
        or _GREPPED.match(text)
        or recognise(text)
        or any(form.fullmatch(text) for form in (SET_UP, STARTED, LIBBPF, SLAB, _UNDERLINE))
        or command_of(text)
        or labels_of(text)
    )


class _Splitting:
    def __init__(self, benchmark: str | None, problems: ProblemList, *, bare: bool) -> None:
        self.outputs: list[BenchOutput] = []
        self._benchmark, self._problems, self._bare = benchmark, problems, bare
        self._command: Command | None = None
        self._labels: dict[str, str] = {}
        self._previous: Line | None = None
        self._headings = Headings()
        self._lines: Sequence[Line] = ()
        self._place = 0
        self._ended = False
        """True if a command line came after the last result."""

    def read(self, lines: Sequence[Line], place: int) -> int:
        """Reads the line at `place`, with its continuation lines. Returns the number of lines read."""
        line = lines[place]
        stripped = line.text.strip()
        if not stripped:
            return 1
        self._lines, self._place = lines, place
        if len(stripped) <= _SHORT and _is_meaningless(stripped):
            self._skip(line)
            return 1
        if banner := SET_UP.fullmatch(stripped):
            self._begin(banner["name"], line).framed = True
        elif started := STARTED.fullmatch(stripped):
            self._start(started["name"], line)
        else:
            return self._read_result(lines, place)
        return 1

    def _read_result(self, lines: Sequence[Line], place: int) -> int:
        line = lines[place]
        known, count = _recognise_line(lines, place)
        file = _GREPPED.match(line.text.strip()) if known is None else None
        if file is not None:
            known = recognise(line.text.strip()[file.end() :])
        if known is None:
            self._unknown(line)
            return 1
        if known.kind.row_of is not None:
            name, params = known.kind.row_of(known.fields)
            self._begin(name, line).params.update(params)
        elif file is not None and _BENCHMARK.fullmatch(file["file"]):
            self._begin(file["file"], line)
        elif not self.outputs or self._ended or _begins_another(known, self.outputs[-1]):
            self._begin(self._name_of_bare(known), line)
        take(known, line, self.outputs[-1])
        return count

    def _begin(self, name: str | None, line: Line) -> BenchOutput:
        output = BenchOutput(name=name, line=line.number, params=dict(self._labels))
        output.above, output.alone = self._headings.above, self._headings.alone
        output.side, output.said = self._headings.side, self._headings.said
        if self._command is not None and self._command.benchmark == name:
            output.params.update(self._command.params)
        self.outputs.append(output)
        self._ended = False
        return output

    def _start(self, name: str, line: Line) -> None:
        """Reads `Benchmark 'x' started.`.

        It follows the banner, or begins the output if there is no banner.
        """
        current = self.outputs[-1] if self.outputs else None
        if current is None or current.name != name or not current.is_fresh:
            self._begin(name, line)

    def _name_of_bare(self, known: KnownLine) -> str | None:
        """Returns the caller's name for the output, else the command line's, else the line's own."""
        of_command = self._command.benchmark if self._command else None
        return self._benchmark or of_command or known.fields.get(known.kind.name_field or "")

    def _unknown(self, line: Line) -> None:
        text = line.text.strip()
        output = self.outputs[-1] if self.outputs else None
        libbpf, slab = LIBBPF.fullmatch(text), SLAB.fullmatch(text)
        if slab and output is not None:
            output.slab = slab["mib"]
        elif libbpf and output is not None:
            output.failures.append((line.number, libbpf["text"]))
        elif libbpf:
            self._problems.append(problem_at(line.number, line.text, f"failed: {libbpf['text']}"))
        elif not is_chatter(text) and not (self._bare and self._told_around(text, output)):
            self._skip(line)
            return
        if text:
            self._previous = None

    def _skip(self, line: Line) -> None:
        self._previous = line
        if self._bare and self._headings.see(line.text, alone=self._is_alone()):
            return
        self._problems.skip(line.number, line.text, _SKIPPED)

    def _is_alone(self) -> bool:
        """True if the line is a paragraph of its own."""
        lines, place = self._lines, self._place
        first = place == 0 or not lines[place - 1].text.strip()
        return first and (place + 1 == len(lines) or not lines[place + 1].text.strip())

    def _told_around(self, text: str, output: BenchOutput | None) -> bool:
        """Reads a line of the context and returns True if it is one.

        Such lines are a command line, labels, or the underline of a script's title, which resets the labels.
        """
        command = command_of(text)
        if command is not None:
            self._command = command
            self._ended = output is not None and not output.is_fresh
            return True
        if _UNDERLINE.fullmatch(text):
            self._labels = self._title()
            return True
        labels = labels_of(text)
        self._labels.update(labels)
        if output is not None and output.is_fresh:
            output.params.update(labels)
        return bool(labels)

    def _title(self) -> dict[str, str]:
        """Makes the line above an underline the `section` parameter of the outputs below."""
        last = self._previous
        if last is None:
            return {}
        if self._bare and side_of(last.text):
            return {}
        self._problems.take_back(_SKIPPED)
        self._headings.take_title()
        return {"section": " ".join(last.text.split())[:LONGEST_TITLE]}


def _recognise_line(lines: Sequence[Line], place: int) -> tuple[KnownLine | None, int]:
    """Recognises a line that mail may have wrapped at 72 columns.

    Returns it with the number of its pieces.
    """
    line = lines[place]
    known = recognise(line.text)
    if known is not None or not (begins_output(line.text) or _begins_row(line.text)):
        return known, 1
    text = line.text
    for count, following in enumerate(lines[place + 1 : place + _MOST_PIECES], start=2):
        if begins_output(following.text) or _begins_row(following.text) or not following.text.strip():
            break
        text = f"{text} {following.text.strip()}"
        known = recognise(text)
        if known is not None:
            return known, count
    return None, 1


def _begins_row(text: str) -> bool:
    return not begins_output(text) and _ROW_BEGINS.search(text) is not None


def _begins_another(known: KnownLine, output: BenchOutput) -> bool:
    if known.role in ("failure", "doubt"):
        return False
    if output.kind is not None and output.kind is not known.kind:
        return True
    if known.kind.once and any(fields.keys() & known.numbers().keys() for _, fields in output.finals):
        return True
    if known.role == "summary" and output.summary.keys() & known.numbers().keys():
        return True
    if known.role == "final" and (own := _identity(known.fields)):
        return any(_identity(texts) == own for texts, _ in output.finals)
    return known.role == "iter" and bool(output.summary) and known.kind.lines_per_reading == 1


def _identity(fields: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple((name, fields[name]) for name in _IDENTIFYING if name in fields)


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
