"""Tells formats apart by what is in them."""

import re

from cliffwatch.parsers.bench.parse import parse_bench
from cliffwatch.parsers.bencher import parse_bencher
from cliffwatch.parsers.go_bench import parse_go_bench
from cliffwatch.parsers.kcidb import looks_like_kcidb, parse_kcidb
from cliffwatch.parsers.readings import Parsed, problem_at
from cliffwatch.parsers.table.comma_separated import looks_like_table, read_csv_table
from cliffwatch.parsers.table.reading import parsed_table
from cliffwatch.parsers.veristat import looks_like_veristat, parse_veristat

_GO = re.compile(r"(?m)^[>\s]*(?:Benchmark[^\sa-z]\S*\s+\d+\s+\S+\s+\S+|Unit\s+\S+\s+\w+=|goos: |pkg: )")
_ONLY_ERRORS = re.compile(r"(?m)^[>\s]*libbpf: ")
_OF_BENCH = re.compile(r"(?m)^[>\s]*(?:Setting up benchmark|Iter\s+\d|Summary:|SUMMARY )")


def parse_any(text: str, *, stderr: str = "") -> Parsed:
    """Parses a text of any format that can be imported; what is none of the others is taken for bench's. Total."""
    if text.lstrip().startswith("{"):
        return parse_kcidb(text) if looks_like_kcidb(text) else parse_bencher(text)
    table = _table(text)
    if table is not None:
        return table
    if looks_like_veristat(text):
        return parse_veristat(text)
    if _GO.search(text) and not _OF_BENCH.search(text):
        return parse_go_bench(text)
    if _ONLY_ERRORS.search(text) and not _OF_BENCH.search(text):
        return parse_bench("", stderr=text)
    return parse_bench(text, stderr=stderr)


def _table(text: str) -> Parsed | None:
    if text.startswith("PAR1"):
        reason = "a Parquet file is no text: cliffwatch export FILE --format csv makes one of it"
        return Parsed(values=(), problems=(problem_at(0, "", reason),))
    return parsed_table(read_csv_table(text)) if looks_like_table(text) else None
