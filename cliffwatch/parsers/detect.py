"""Tells formats apart by what is in them."""

import re

from cliffwatch.parsers.cleaning import is_plain
from cliffwatch.parsers.go_bench import parse_go_bench
from cliffwatch.parsers.readings import Parsed, Problem, problem_at
from cliffwatch.parsers.received.text import as_printed
from cliffwatch.parsers.table.header import looks_like_table

_BEGINS = r"(?m)^(?:>|[^\S\n])*"
"""A line, quoted or not. It stays within the line: across blank ones it would take quadratic time."""

_GO = re.compile(
    _BEGINS + r"(?:Benchmark[^\sa-z]\S*\s+\d+\s+\S+\s+\S+|Unit\s+\S+\s+\w+=|goos: |pkg: |--- (?:FAIL|SKIP):"
    r" Benchmark)"
)
_ONLY_ERRORS = re.compile(_BEGINS + "libbpf: ")
_WORDS = ("Setting up benchmark", "Iter", "Summary:", "SUMMARY ")
_OF_BENCH = re.compile(_BEGINS + r"(?:Setting up benchmark|Iter\s+\d|Summary:|SUMMARY )")
_JSON = re.compile(r"\s*(?:\{|\[\s*[{\]])")
_JSON_AFTER_WORDS = re.compile(r"\n\{\s*\"(?P<first>context|benchmarks|results|Action|Time)\"")
_BEGIN = 1 << 16


def parse_any(text: str, *, stderr: str = "") -> Parsed:
    """Parses a text of any format that can be imported; what is none of the others is taken for bench's.
    Total.
    """
    printed = as_printed(text)
    if isinstance(printed, Problem):
        return Parsed(found=(), problems=(printed,))
    return parse_printed(printed, stderr=stderr)


def parse_printed(text: str, *, stderr: str = "") -> Parsed:
    """The same of a text as its program printed it."""
    document = _document(text)
    if document is not None:
        from cliffwatch.parsers.documents.read import (  # noqa: PLC0415 - each format loads its own reader
            parse_json,
        )

        return parse_json(document)
    table = _table(text)
    if table is not None:
        return table
    if _mentions_programs(text):
        from cliffwatch.parsers.table.veristat_rows import looks_like_veristat  # noqa: PLC0415 - as above
        from cliffwatch.parsers.veristat import parse_veristat  # noqa: PLC0415 - as above

        if looks_like_veristat(text):
            return parse_veristat(text)
    if _GO.search(text) and not _is_of_bench(text):
        return parse_go_bench(text)
    return _foreign(text) or _parse_bench(text, stderr)


def _parse_bench(text: str, stderr: str) -> Parsed:
    from cliffwatch.parsers.bench.parse import parse_bench  # noqa: PLC0415 - as above

    if _ONLY_ERRORS.search(text) and not _is_of_bench(text):
        return parse_bench("", stderr=text)
    return parse_bench(text, stderr=stderr)


def _document(text: str) -> str | None:
    """The JSON of a text, before which its program may have said something; None of other texts."""
    if _JSON.match(text):
        return text
    after = _JSON_AFTER_WORDS.search(text, 0, _BEGIN)
    if after is None or after["first"] in ("Action", "Time"):
        return text if after else None
    # Lines keep their numbers.
    return "\n" * text.count("\n", 0, after.start() + 1) + text[after.start() + 1 :]


def _foreign(text: str) -> Parsed | None:
    """What is no output of bench, and whose format has a name; None of others."""
    if _is_of_bench(text):
        return None
    from cliffwatch.parsers.documents.texts import refuse_foreign_text  # noqa: PLC0415 - as above

    reason = refuse_foreign_text(text)
    return None if reason is None else Parsed(found=(), problems=(problem_at(0, "", reason),))


def _table(text: str) -> Parsed | None:
    if text.startswith("PAR1"):
        reason = "a Parquet file is no text: cliffwatch export FILE --format csv makes one of it"
        return Parsed(found=(), problems=(problem_at(0, "", reason),))
    if not looks_like_table(text):
        return None
    from cliffwatch.parsers.table.comma_separated import read_csv_table  # noqa: PLC0415 - as above
    from cliffwatch.parsers.table.reading import parsed_table  # noqa: PLC0415 - as above

    return parsed_table(read_csv_table(text))


def _mentions_programs(text: str) -> bool:
    """Whether a header of veristat may be in it: one that has to be cleaned first may come out anywhere."""
    return "prog_name" in text or ("Program" in text and "File" in text) or not is_plain(text[:4096])


def _is_of_bench(text: str) -> bool:
    """Words are sought first, which in a large text without them takes no time."""
    return any(word in text for word in _WORDS) and _OF_BENCH.search(text) is not None
