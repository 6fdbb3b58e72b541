"""Tells formats apart by what is in them."""

import re

from cliffwatch.parsers.bench.parse import parse_bench
from cliffwatch.parsers.bencher import parse_bencher
from cliffwatch.parsers.go_bench import parse_go_bench
from cliffwatch.parsers.readings import Parsed
from cliffwatch.parsers.veristat import looks_like_veristat, parse_veristat

_GO = re.compile(r"(?m)^[>\s]*(?:Benchmark[^\sa-z]\S*\s+\d+\s+\S+\s+\S+|Unit\s+\S+\s+\w+=|goos: |pkg: )")
_ONLY_ERRORS = re.compile(r"(?m)^[>\s]*libbpf: ")
_WORDS = ("Setting up benchmark", "Iter", "Summary:", "SUMMARY ")
_OF_BENCH = re.compile(r"(?m)^[>\s]*(?:Setting up benchmark|Iter\s+\d|Summary:|SUMMARY )")


def parse_any(text: str, *, stderr: str = "") -> Parsed:
    """Parses a text of any format that can be imported; what is none of the others is taken for bench's. Total."""
    if text.lstrip().startswith("{"):
        return parse_bencher(text)
    if looks_like_veristat(text):
        return parse_veristat(text)
    if _GO.search(text) and not _is_of_bench(text):
        return parse_go_bench(text)
    if _ONLY_ERRORS.search(text) and not _is_of_bench(text):
        return parse_bench("", stderr=text)
    return parse_bench(text, stderr=stderr)


def _is_of_bench(text: str) -> bool:
    """Words are sought first, which in a large text without them takes no time."""
    return any(word in text for word in _WORDS) and _OF_BENCH.search(text) is not None
