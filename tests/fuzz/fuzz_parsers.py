"""Fuzzes every parser: whatever the bytes, values and problems come back, no number is NaN, nothing is raised.

    .venv/bin/pip install atheris                          # a coverage-guided fuzzer, not among our pins
    .venv/bin/python tests/fuzz/fuzz_parsers.py tests/data/bench-6.12-tcg -max_total_time=300

Without atheris the script runs each file of the folder once, and each with a thousand seeded damages.
"""

import math
import random
import sys
from pathlib import Path

from cliffwatch.parsers.detect import parse_any
from cliffwatch.parsers.documents.bencher import parse_bencher
from cliffwatch.parsers.go_bench import parse_go_bench
from cliffwatch.parsers.table.comma_separated import read_csv_table
from cliffwatch.parsers.table.parquet import read_parquet_table
from cliffwatch.parsers.table.reading import Table
from cliffwatch.parsers.veristat import parse_veristat

DAMAGES = 1000


def parse_all(data: bytes) -> None:
    text = data.decode(errors="replace")
    for parse in (parse_any, parse_go_bench, parse_veristat, parse_bencher):
        parsed = parse(text)
        assert all(math.isfinite(sample.value) for sample in parsed.samples)
        assert all(problem.reason for problem in parsed.problems)
    check_table(read_csv_table(text))
    if data.startswith(b"PAR1"):
        table = read_parquet_table(data, "fuzzed")
        if isinstance(table, Table):
            check_table(table)


def check_table(table: Table) -> None:
    samples = [sample for arm in table.arms.values() for boot in arm.boots for sample in boot.samples]
    assert all(math.isfinite(number) for each in samples for number in (each.value, each.resolution, *each.readings))
    assert all(problem.reason for problem in table.problems)


def damaged(data: bytes, rng: random.Random) -> bytes:
    """The data with a piece cut, doubled, or replaced by noise."""
    first, last = sorted(rng.randrange(len(data) + 1) for _ in range(2))
    piece = rng.choice(
        [b"", data[first:last] * 2, rng.randbytes(min(64, last - first)), b"\xc2\xa0", b"\r", b"inf", b"-nan"]
    )
    return data[:first] + piece + data[last:]


def run_without_fuzzer(folder: Path) -> None:
    rng = random.Random(1)
    files = sorted(path for path in folder.iterdir() if path.is_file())
    for path in files:
        data = path.read_bytes()
        parse_all(data)
        for _ in range(DAMAGES):
            parse_all(damaged(data, rng))
    print(f"{len(files)} files, {len(files) * (DAMAGES + 1)} inputs, nothing raised")  # noqa: T201


def main() -> None:
    try:
        import atheris  # noqa: PLC0415 - a tool of whoever fuzzes, not of the tests
    except ImportError:
        run_without_fuzzer(Path(sys.argv[1]))
        return
    atheris.instrument_all()
    atheris.Setup(sys.argv, parse_all)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
