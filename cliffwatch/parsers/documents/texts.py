"""Refuses outputs that other tools print for people, and names the option for a format that can be read."""

import re

from cliffwatch.parsers.cleaning import clean_lines

_BEGIN = 1 << 15
_FORMS = (
    (
        re.compile(r"(?m)^Benchmark {2,200}Time {2,200}CPU {2,200}Iterations"),
        "Google Benchmark's console output",
        "run it with --benchmark_format=json",
    ),
    (
        re.compile(r"(?m)^name,iterations,real_time,cpu_time,time_unit"),
        "Google Benchmark's CSV",
        "run it with --benchmark_format=json",
    ),
    (
        re.compile(r"(?m)^(?:Benchmark \d+: |  Time \(mean ± .\):)"),
        "hyperfine's console output",
        "run it with --export-json FILE",
    ),
    (
        re.compile(r"(?m)^command,mean,stddev,median,user,system,min,max"),
        "hyperfine's CSV, which has no single runs",
        "run it with --export-json FILE",
    ),
    (
        re.compile(r"(?m)^Benchmark {2,200}(?:\(\w+\) {1,200})?Mode {1,20}Cnt {1,40}Score"),
        "JMH's console output",
        "write each measurement as a row of CSV (docs/formats.md, The table)",
    ),
    (
        re.compile(r"(?m)time: {1,40}\[[\d.]{1,20} [munµp]?s [\d.]{1,20} "),
        "Criterion's console output",
        "write each measurement as a row of CSV (docs/formats.md, The table)",
    ),
    (
        re.compile(r"(?m)^window\.BENCHMARK_DATA = "),
        "github-action-benchmark's data",
        (
            "give the output of the tool that it was made from: `go test -bench`, Google Benchmark's JSON, "
            "hyperfine's JSON"
        ),
    ),
    (
        re.compile(r"(?m)^\s{0,40}│ {0,200}[^│\n]{0,200}│ {1,200}(?:[^│\n]{0,200}│)?|^geomean\s"),
        "benchstat's table",
        "give the files that benchstat read",
    ),
    (
        re.compile(r"(?m)^ {0,20}Performance counter stats for "),
        "perf stat's output",
        "write each measurement as a row of CSV (docs/formats.md, The table)",
    ),
)


def refuse_foreign_text(text: str) -> str | None:
    """Explains why a text is not read. None if it is not the output of another known tool."""
    begin = "\n".join(line.text for line in clean_lines(text[:_BEGIN]))
    for pattern, name, way_out in _FORMS:
        if pattern.search(begin):
            return f"this is {name}, which is not read: {way_out}"
    return None
