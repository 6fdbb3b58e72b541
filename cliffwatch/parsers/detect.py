"""Tells formats apart by what is in them."""

import re

from cliffwatch.parsers.cleaning import is_plain
from cliffwatch.parsers.go_bench import parse_go_bench
from cliffwatch.parsers.readings import Parsed, problem_at
from cliffwatch.parsers.table.header import looks_like_table

_GO = re.compile(r"(?m)^[>\s]*(?:Benchmark[^\sa-z]\S*\s+\d+\s+\S+\s+\S+|Unit\s+\S+\s+\w+=|goos: |pkg: )")
_ONLY_ERRORS = re.compile(r"(?m)^[>\s]*libbpf: ")
_WORDS = ("Setting up benchmark", "Iter", "Summary:", "SUMMARY ")
_OF_BENCH = re.compile(r"(?m)^[>\s]*(?:Setting up benchmark|Iter\s+\d|Summary:|SUMMARY )")


def parse_any(text: str, *, stderr: str = "") -> Parsed:
    """Parses a text of any format that can be imported; what is none of the others is taken for bench's. Total."""
    if text.lstrip().startswith("{"):
        from cliffwatch.parsers.bencher import parse_bencher  # noqa: PLC0415 - each format loads its own reader
        from cliffwatch.parsers.kcidb import looks_like_kcidb, parse_kcidb  # noqa: PLC0415 - as above

        return parse_kcidb(text) if looks_like_kcidb(text) else parse_bencher(text)
    table = _table(text)
    if table is not None:
        return table
    if _mentions_programs(text):
        from cliffwatch.parsers.veristat import looks_like_veristat, parse_veristat  # noqa: PLC0415 - as above

        if looks_like_veristat(text):
            return parse_veristat(text)
    if _GO.search(text) and not _is_of_bench(text):
        return parse_go_bench(text)
    from cliffwatch.parsers.bench.parse import parse_bench  # noqa: PLC0415 - as above

    if _ONLY_ERRORS.search(text) and not _is_of_bench(text):
        return parse_bench("", stderr=text)
    return parse_bench(text, stderr=stderr)


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
    """Whether the header of veristat may be in it: one that has to be cleaned first may come out anywhere."""
    begin = text[:4096]
    return "prog_name" in begin or not is_plain(begin)


def _is_of_bench(text: str) -> bool:
    """Words are sought first, which in a large text without them takes no time."""
    return any(word in text for word in _WORDS) and _OF_BENCH.search(text) is not None
