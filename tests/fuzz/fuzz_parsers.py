"""Fuzzes every reader: whatever the bytes, values and problems come back, no number is NaN, nothing is
raised.

    .venv/bin/pip install atheris                          # a coverage-guided fuzzer, not among our pins
    .venv/bin/python tests/fuzz/fuzz_parsers.py tests/data/bench-6.12-tcg -max_total_time=300

Without atheris the script runs each file of the folders once, and each with seeded damages (`--damages`,
else a thousand). A damaged text goes through a container, an encoding or both, and is damaged again there.
"""

import math
import random
import sys
from pathlib import Path

from wrapped_up import CONTAINERS, ENCODINGS

from cliffwatch.failure import Failure
from cliffwatch.importing import ImportedFile, import_content
from cliffwatch.parsers.detect import parse_any
from cliffwatch.parsers.documents.bencher import parse_bencher
from cliffwatch.parsers.documents.go_test import parse_go_test
from cliffwatch.parsers.documents.read import parse_json
from cliffwatch.parsers.go_bench import parse_go_bench
from cliffwatch.parsers.received.decoding import decode
from cliffwatch.parsers.received.unpacking import unpack
from cliffwatch.parsers.table.comma_separated import read_csv_table
from cliffwatch.parsers.table.parquet import read_parquet_table
from cliffwatch.parsers.table.reading import Table
from cliffwatch.parsers.veristat import parse_veristat

DAMAGES = 1000


def read_all(data: bytes) -> None:
    """As a file that somebody names: unpacked, decoded, out of mail and logs."""
    content = unpack(data, "fuzzed")
    if isinstance(content, Failure):
        assert content.whose == "usage"
        return
    assert isinstance(import_content(content, "fuzzed"), ImportedFile | Failure)
    parse_all(content)


def parse_all(data: bytes) -> None:
    text = decode(data)
    for parse in (parse_any, parse_go_bench, parse_veristat, parse_bencher, parse_json, parse_go_test):
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
    assert all(
        math.isfinite(number) for each in samples for number in (each.value, each.resolution, *each.readings)
    )
    assert all(problem.reason for problem in table.problems)


def damaged(data: bytes, rng: random.Random) -> bytes:
    """The data with a piece cut, doubled, or replaced by noise."""
    first, last = sorted(rng.randrange(len(data) + 1) for _ in range(2))
    piece = rng.choice(
        [b"", data[first:last] * 2, rng.randbytes(min(64, last - first)), b"\xc2\xa0", b"\r", b"inf", b"-nan"]
    )
    return data[:first] + piece + data[last:]


def sent(data: bytes, rng: random.Random) -> bytes:
    """The data as somebody may send it."""
    if rng.random() < 0.5:
        data = rng.choice(list(ENCODINGS.values()))(data.decode(errors="replace"))
    if rng.random() < 0.5:
        data = rng.choice(list(CONTAINERS.values()))(data)
    return data


def run_without_fuzzer(folders: list[Path], damages: int) -> None:
    rng = random.Random(1)
    files = sorted(path for folder in folders for path in folder.rglob("*") if path.is_file())
    for path in files:
        data = path.read_bytes()
        read_all(data)
        for _ in range(damages):
            whole = sent(damaged(data, rng), rng)
            read_all(damaged(whole, rng) if rng.random() < 0.5 else whole)
    print(f"{len(files)} files, {len(files) * (damages + 1)} inputs, nothing raised")  # noqa: T201


def main() -> None:
    try:
        import atheris  # noqa: PLC0415 - a tool of whoever fuzzes, not of the tests
    except ImportError:
        *folders, damages = sys.argv[1:] if "--damages" in sys.argv else [*sys.argv[1:], str(DAMAGES)]
        run_without_fuzzer([Path(each) for each in folders if each != "--damages"], int(damages))
        return
    atheris.instrument_all()
    atheris.Setup(sys.argv, read_all)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
