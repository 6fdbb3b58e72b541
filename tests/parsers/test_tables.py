"""Tables that strangers wrote: a reason and a line for whatever is wrong, and never an exception."""

import io
import json
import random
import struct
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cliffwatch.failure import Failure
from cliffwatch.importing import ImportedFile, import_file, parse_file
from cliffwatch.parsers.detect import parse_any
from cliffwatch.parsers.readings import Parsed
from cliffwatch.parsers.table import parquet as limits
from cliffwatch.parsers.table.columns import COLUMNS, NAMES, table_schema
from cliffwatch.parsers.table.comma_separated import read_csv_table
from cliffwatch.parsers.table.header import looks_like_table
from cliffwatch.parsers.table.parquet import read_parquet_table
from cliffwatch.parsers.table.reading import MOST_PROBLEMS, Table

SCHEMA = Path(__file__).parents[2] / "docs/schemas/table.schema.json"
HEADER = "run,platform,mode,arm,commit,boot,stage,suite,benchmark,params,metric,unit,value"
ROW = 'r,amd-rome,walltime,head,,1,screen,s,b,"{""n"":""1""}",latency,ns/op,5.5'


def table(*rows: str) -> Table:
    return read_csv_table("\n".join([HEADER, *rows]) + "\n")


def test_the_schema_is_that_of_the_code() -> None:
    """`tools/write_table_schema.py` writes it."""
    assert json.loads(SCHEMA.read_text()) == table_schema()


def test_an_export_of_before_reads_as_well() -> None:
    """Of when the table had no more columns than these."""
    (arm,) = table(ROW).arms.values()
    (boot,) = arm.boots
    assert (arm.mode, arm.platform, arm.environment, boot.index, boot.stage) == (
        "walltime",
        "amd-rome",
        {},
        1,
        "screen",
    )
    assert [(str(each.case), each.value, each.readings) for each in boot.samples] == [("b/n=1", 5.5, ())]


def test_columns_may_stand_in_any_order_and_others_beside_them(tmp_path: Path) -> None:
    path = tmp_path / "sheet.csv"
    path.write_bytes(
        b"\xef\xbb\xbfvalue,unit,metric,params,benchmark,suite,mine,boot,arm\r\n5.5,ns/op,latency,,b,s,x,1,\r\n6,ns/op,latency,,b,s,,2,\r\n"
    )
    found = import_file(path)
    assert isinstance(found, ImportedFile)
    assert [boot.samples[0].value for boot in found.arms[""].boots] == [5.5, 6.0]
    assert (found.arms[""].name, found.arms[""].label) == ("sheet.csv", str(path))


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (ROW.replace("5.5", "nan"), "value 'nan' is not a finite number"),
        (ROW.replace("5.5", "1e999"), "value '1e999' is not a finite number"),
        (ROW.replace("5.5", "5_5"), "value '5_5' is not a finite number"),
        (ROW.replace("5.5", "5,5"), "14 columns, but the header has 13"),
        (ROW.replace("5.5", "\u0665"), "is not a finite number"),
        (ROW.replace(",1,screen", ",-1,screen"), "boot '-1' is not a boot or block number"),
        (ROW.replace(",1,screen", ",1.5,screen"), "boot '1.5' is not a boot or block number"),
        (ROW.replace(",1,screen", ",1e300,screen"), "boot '1e300' is not a boot or block number"),
        (ROW.replace(",1,screen", ",,screen"), "a value without a boot"),
        (ROW.replace('"{""n"":""1""}"', "{"), "params is not JSON"),
        (ROW.replace('"{""n"":""1""}"', "[]"), "params is not an object"),
        (ROW.replace('"{""n"":""1""}"', "[" * 100_000), "recursion"),
        (ROW.replace(",b,", ",,"), "a case without a benchmark"),
        (ROW.replace("latency", ""), "a value without a benchmark, a metric or a unit"),
        ("x" * 200_000 + ROW, "field larger than field limit"),
        ('"' + ROW, "columns, but the header has 13"),
    ],
)
def test_a_row_that_is_wrong_is_named_and_the_others_are_read(row: str, reason: str) -> None:
    found = table(ROW, row) if row.startswith('"') else table(row, ROW)
    assert [len(boot.samples) for arm in found.arms.values() for boot in arm.boots] == [1]
    (problem,) = found.problems
    assert reason in problem.reason
    assert problem.line == (3 if row.startswith('"') else 2)


@pytest.mark.parametrize(
    ("extra", "cell", "reason"),
    [
        ("readings", "5", "readings are not a list"),
        ("readings", '"[1,null]"', "a reading of 'None' is not a finite number"),
        ("resolution", "-1", "a negative resolution"),
        ("outcome", "splendid", "an unknown outcome 'splendid'"),
        ("about", '"{""format_version"":2}"', "this Cliffwatch reads up to 1: update it"),
        ("about", '"{""format_version"":""1""}"', "reads up to 1"),
        ("about", "7", "about is not an object"),
    ],
)
def test_a_cell_that_is_wrong_is_named(extra: str, cell: str, reason: str) -> None:
    found = read_csv_table(f"{HEADER},{extra}\n{ROW},{cell}\n")
    assert [reason in each.reason for each in found.problems] == [True]


def test_of_a_newer_table_nothing_is_guessed() -> None:
    found = read_csv_table(
        f'{HEADER},about\n{ROW},"{{""format_version"":2}}"\n{ROW.replace(",1,", ",2,")},\n'
    )
    assert (found.arms, len(found.problems)) == ({}, 1)


def test_the_same_value_twice_is_read_once() -> None:
    found = table(ROW, ROW.replace("5.5", "6"), ROW.replace(",1,", ",2,"))
    assert [each.reason for each in found.problems] == ["latency of b/n=1 appears twice in this boot"]
    assert [boot.samples[0].value for arm in found.arms.values() for boot in arm.boots] == [5.5, 5.5]


def test_arms_of_several_runs_are_named_by_their_run(tmp_path: Path) -> None:
    rows = [f"{run * 20}{ROW[1:]}" for run in ("ab", "cd")]
    path = tmp_path / "months.csv"
    path.write_text("\n".join([HEADER, *rows]))
    found = import_file(path)
    assert isinstance(found, ImportedFile)
    assert list(found.arms) == ["abababababab/head", "cdcdcdcdcdcd/head"]
    assert (found.one_run, found.run) == (False, "")


def test_a_header_of_a_million_columns_is_refused_at_once() -> None:
    began = time.monotonic()
    text = HEADER + "," + ",".join(f"c{number}" for number in range(1_000_000)) + "\n" + ROW
    assert "more than 256 columns" in parse_any(text).problems[0].reason
    assert time.monotonic() - began < 5


def test_a_million_wrong_rows_are_counted_and_not_kept() -> None:
    found = read_csv_table(HEADER + "\n" + "x\n" * 100_000)
    assert len(found.problems) == MOST_PROBLEMS + 1
    assert found.problems[-1].reason == f"{100_000 - MOST_PROBLEMS:,} more rows could not be read"


def test_headers_of_others_are_not_taken_for_ours() -> None:
    assert not looks_like_table("benchmark,param,value,metric,unit,before,after,change\n")
    assert not looks_like_table("file_name,prog_name,verdict,total_insns\n")
    assert "appears twice" in read_csv_table(f"{HEADER},value\n{ROW},6\n").problems[0].reason


@given(st.binary(max_size=300), st.integers(0, 400))
def test_any_bytes_in_a_table_are_problems_at_worst(noise: bytes, place: int) -> None:
    whole = f"{HEADER},readings,about\n{ROW},[1],{{}}\n{ROW},,\n".encode()
    parsed = parse_any((whole[:place] + noise + whole[place:]).decode(errors="replace"))
    assert all(problem.reason for problem in parsed.problems)


# Parquet
# -----------------------------------------------------------------------------------------------------------------


def columns(count: int = 2, **other: Any) -> dict[str, Any]:
    known: dict[str, Any] = {
        "run": ["r"] * count,
        "mode": ["walltime"] * count,
        "arm": ["head"] * count,
        "boot": pa.array(range(1, count + 1), pa.int32()),
        "suite": ["s"] * count,
        "benchmark": ["b"] * count,
        "params": ["{}"] * count,
        "metric": ["latency"] * count,
        "unit": ["ns/op"] * count,
        "value": [5.5] * count,
    }
    return known | other


def file_of(
    path: Path, content: Mapping[str, Any], metadata: Mapping[str, str] | None = None, **how: Any
) -> Path:
    pq.write_table(pa.table(dict(content), metadata=dict(metadata or {})), path, **how)
    return path


def refused(path: Path) -> str:
    found = import_file(path)
    assert isinstance(found, Failure), found
    assert found.whose == "usage"
    again = parse_file(path)
    assert isinstance(again, Failure) or not again.found
    return found.message


def test_parquet_of_other_programs_reads(tmp_path: Path) -> None:
    for how in (
        {},
        {"use_dictionary": False},
        {"compression": "none"},
        {"row_group_size": 1},
        {"version": "1.0"},
    ):
        found = read_parquet_table(file_of(tmp_path / "a", columns(), **how).read_bytes(), "a")
        assert isinstance(found, Table)
        assert [len(boot.samples) for boot in found.arms["head"].boots] == [1, 1]
    wide = file_of(tmp_path / "b", columns(boot=pa.array([1.0, 2.0]), value=pa.array([1, 2], pa.int64())))
    assert isinstance(read_parquet_table(wide.read_bytes(), "wide"), Table)


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        ({"value": ["x", "y"]}, "column 'value' has the wrong type"),
        ({"arm": [1, 2]}, "column 'arm' has the wrong type"),
        ({"readings": [1.0, 2.0]}, "column 'readings' has the wrong type"),
        ({"value": [float("nan"), float("inf")]}, "value 'nan' is not a finite number"),
        ({f"c{number}": [1, 2] for number in range(300)}, "310 columns, at most 256 are read"),
    ],
)
def test_a_parquet_file_that_is_none_of_ours_is_refused(
    tmp_path: Path, other: dict[str, Any], reason: str
) -> None:
    assert reason in refused(file_of(tmp_path / "a", columns(**other)))


def test_columns_that_lack_or_are_newer_are_named(tmp_path: Path) -> None:
    lacking = {name: each for name, each in columns().items() if name != "metric"}
    assert "it has no column 'metric'" in refused(file_of(tmp_path / "a", lacking))
    assert "it has format 2; this Cliffwatch reads up to 1" in refused(
        file_of(tmp_path / "b", columns(), {"format_version": "2"})
    )


def test_what_unpacks_to_more_than_the_limits_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bomb = file_of(
        tmp_path / "a", columns(1, params=["x" * (8 << 20)]), use_dictionary=False, compression="zstd"
    )
    assert bomb.stat().st_size < 100_000
    monkeypatch.setattr(limits, "MOST_BYTES", 1 << 20)
    assert "it unpacks to 8 MiB, at most 1 are read" in refused(bomb)
    monkeypatch.setattr(limits, "MOST_ROWS", 1)
    assert "2 rows, at most 1 are read" in refused(file_of(tmp_path / "b", columns()))
    monkeypatch.setattr(limits, "MOST_ROWS", 10)
    monkeypatch.setattr(limits, "MOST_READINGS", 99)
    many = columns(1, readings=[[0.0] * 100])
    assert "a column of more than 99 values" in refused(file_of(tmp_path / "c", many))


def test_one_long_text_in_every_row_is_one_text_in_memory(tmp_path: Path) -> None:
    count = 20_000
    shared = pa.DictionaryArray.from_arrays(pa.array([0] * count, pa.int32()), pa.array(["x" * (1 << 20)]))
    path = file_of(tmp_path / "a", columns(count, layout=shared))
    assert path.stat().st_size < 2 << 20
    found = read_parquet_table(path.read_bytes(), "a")
    assert isinstance(found, Table)
    assert len(found.arms["head"].boots) == count


def test_a_truncated_or_damaged_parquet_file_is_refused(tmp_path: Path) -> None:
    whole = file_of(tmp_path / "whole", columns(50)).read_bytes()
    rng, path = random.Random(1), tmp_path / "damaged"
    for number in range(300):
        if number < 60:
            damaged = whole[: rng.randrange(4, len(whole))]
        else:
            place = rng.randrange(4, len(whole))
            damaged = whole[:place] + rng.randbytes(rng.choice((1, 4, 30))) + whole[place + 4 :]
        path.write_bytes(damaged)
        found = import_file(path)
        assert isinstance(found, Failure | ImportedFile)
        assert isinstance(parse_file(path), Failure | Parsed)
    path.write_bytes(b"PAR1" + struct.pack("<i", 0x7FFFFFFF) + b"PAR1")
    assert "cannot be read as Parquet" in refused(path)


def test_text_that_is_no_utf_8_is_damage(tmp_path: Path) -> None:
    path = file_of(tmp_path / "a", columns(1, benchmark=["zzzzzzzz"]), compression="none")
    path.write_bytes(path.read_bytes().replace(b"zzzzzzzz", b"\xff\xfe\xfd\xfczzzz"))
    assert "cannot be read as Parquet" in refused(path)


def test_parquet_at_standard_input_is_named() -> None:
    parsed = parse_any(io.BytesIO(b"PAR1\x15\x04").read().decode(errors="replace"))
    assert "cliffwatch export FILE --format csv" in parsed.problems[0].reason


def test_every_column_is_described() -> None:
    assert len(set(NAMES)) == len(COLUMNS)
    assert all(column.description.endswith(".") for column in COLUMNS)
