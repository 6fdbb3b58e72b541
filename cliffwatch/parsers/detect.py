"""Detects the format of a text by its content, and parses it."""

import re

from cliffwatch.parsers.cleaning import is_plain
from cliffwatch.parsers.go_bench import parse_go_bench
from cliffwatch.parsers.readings import Parsed, Problem, problem_at
from cliffwatch.parsers.received.text import extract_printed
from cliffwatch.parsers.table.header import looks_like_table

_BEGINS = r"(?m)^(?:>|[^\S\n])*"
"""The start of a line, quoted or not.

It excludes line ends: matching across blank lines would take quadratic time.
"""

_GO = re.compile(
    _BEGINS + r"(?:Benchmark[^\sa-z]\S*\s+\d+\s+\S+\s+\S+|Unit\s+\S+\s+\w+=|goos: |pkg: |"
    r"--- (?:FAIL|SKIP): Benchmark)"
)
_ONLY_ERRORS = re.compile(_BEGINS + "libbpf: ")
_WORDS = ("Setting up benchmark", "Iter", "Summary:", "SUMMARY ")
_OF_BENCH = re.compile(_BEGINS + r"(?:Setting up benchmark|Iter\s+\d|Summary:|SUMMARY )")
_JSON = re.compile(r"\s*(?:\{|\[\s*[{\]])")
_JSON_AFTER_WORDS = re.compile(r"\n\{\s*\"(?P<first>context|benchmarks|results|Action|Time)\"")
_BEGIN = 1 << 16


def parse_any(text: str, *, stderr: str = "") -> Parsed:
    """Parses a text of any supported format.

    If no other format fits, it is parsed as output of bench. Never raises.
    """
    printed = extract_printed(text)
    if isinstance(printed, Problem):
        return Parsed(found=(), problems=(printed,))
    return parse_printed(printed, stderr=stderr)


def parse_printed(text: str, *, stderr: str = "") -> Parsed:
    """Like `parse_any`, for a text without mail headers, mail encodings and log time stamps."""
    document = _document(text)
    if document is not None:
        # Each format loads only its own reader.
        from cliffwatch.parsers.documents.read import parse_json  # noqa: PLC0415

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
        parsed = parse_go_bench(text)
        has_result = parsed.found or any(problem.lost for problem in parsed.problems)
        return parsed if has_result else _foreign(text) or parsed
    return _foreign(text) or _parse_bench(text, stderr)


def _parse_bench(text: str, stderr: str) -> Parsed:
    from cliffwatch.parsers.bench.parse import parse_bench  # noqa: PLC0415 - as above

    if _ONLY_ERRORS.search(text) and not _is_of_bench(text):
        return parse_bench("", stderr=text)
    return parse_bench(text, stderr=stderr)


def _document(text: str) -> str | None:
    """Returns the JSON in a text, without words that the program printed before it.

    None if there is no JSON.
    """
    if _JSON.match(text):
        return text
    after = _JSON_AFTER_WORDS.search(text, 0, _BEGIN)
    if after is None or after["first"] in ("Action", "Time"):
        return text if after else None
    # Blank lines keep the line numbers right.
    return "\n" * text.count("\n", 0, after.start() + 1) + text[after.start() + 1 :]


def _foreign(text: str) -> Parsed | None:
    """Refuses output of another known tool. None if the text is bench output or its tool is unknown."""
    if _is_of_bench(text):
        return None
    from cliffwatch.parsers.documents.foreign import refuse_foreign_text  # noqa: PLC0415 - as above

    refused = refuse_foreign_text(text)
    return None if refused is None else Parsed(found=(), problems=(refused,))


def _table(text: str) -> Parsed | None:
    if text.startswith("PAR1"):
        reason = "a Parquet file is not text: convert it with `cliffwatch export FILE --format csv`"
        return Parsed(found=(), problems=(problem_at(0, "", reason),))
    if not looks_like_table(text):
        return None
    from cliffwatch.parsers.table.comma_separated import read_csv_table  # noqa: PLC0415 - as above
    from cliffwatch.parsers.table.reading import convert_table  # noqa: PLC0415 - as above

    return convert_table(read_csv_table(text))


def _mentions_programs(text: str) -> bool:
    """True if the text may contain a header of veristat.

    In a text that needs cleaning it may appear anywhere.
    """
    return "prog_name" in text or ("Program" in text and "File" in text) or not is_plain(text[:4096])


def _is_of_bench(text: str) -> bool:
    # Searching for plain words first is much faster on a large text without them.
    return any(word in text for word in _WORDS) and _OF_BENCH.search(text) is not None
