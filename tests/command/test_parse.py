"""`cliffwatch parse`: everything that a raw output holds, whole, wherever it is printed."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cliffwatch.command.main import main

LONG = "local-storage-cache-interleaved-hashmap-control-with-a-name-that-no-terminal-is-wide-enough-for"
OURS = (
    f"suite: local-storage\nBenchmarkBPF/bench={LONG}/nr_maps=16/hashmap_nr_keys_used=1000000-1 1 185.787"
    " hits-latency-ns/op\n"
)


def parse(*arguments: object, typed: str | None = None) -> Result:
    return CliRunner().invoke(main, ["parse", *map(str, arguments)], input=typed, catch_exceptions=False)


def test_names_parameters_and_file_are_whole_in_a_pipe(tmp_path: Path) -> None:
    path = tmp_path / "a-file-with-a-rather-long-name-of-its-own.txt"
    path.write_text(OURS)
    ended = parse(path)

    assert ended.exit_code == 0
    (line,) = [line for line in ended.stdout.splitlines() if "185.787" in line]
    assert line.split() == [
        str(path),
        LONG,
        "nr_maps=16",
        "hashmap_nr_keys_used=1000000",
        "hits-latency",
        "185.787",
        "ns/op",
        "0",
    ]


def test_a_narrow_terminal_folds_names_and_drops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "f").write_text(OURS)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(tmp_path)
    lines = parse("f").stdout.splitlines()

    assert max(map(len, lines)) <= 100
    assert "…" not in "".join(lines)
    column = lines[0].index("benchmark")
    width = lines[0].index("parameters") - column
    assert "".join(line[column : column + width].strip() for line in lines[1:]) == LONG


def test_small_values_keep_their_digits(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("BenchmarkX 1 0.000417 ns/op\nBenchmarkY 1 0 ns/op\n")

    assert [line.split()[3] for line in parse(tmp_path / "f").stdout.splitlines()[1:]] == [
        "0.000417",
        "0.000",
    ]


@pytest.mark.parametrize("json_", [(), ("--format", "json")])
def test_garbage_alone_is_an_error_that_says_what_was_found(tmp_path: Path, json_: tuple[str, ...]) -> None:
    (tmp_path / "noise").write_text("Iter   0 (nonsense\nSummary: nothing of ours\n")
    ended = parse(tmp_path / "noise", *json_)

    assert ended.exit_code == 2
    assert "there is no result in" in ended.stderr
    assert "docs/formats.md" in ended.stderr


def test_lines_that_make_no_sense_beside_a_result_are_no_error(tmp_path: Path) -> None:
    ended = parse("-", typed=f"{OURS}an odd line:\tof nobody\n")

    assert ended.exit_code == 0
    assert "-:3: neither a result nor a setting" in ended.stdout
    assert "an odd line:" in ended.stdout
    assert "of nobody" in ended.stdout


def test_json_of_several_files_says_which_value_is_of_which(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text(OURS)
    several = json.loads(parse(tmp_path / "a", tmp_path / "b", "--format", "json").stdout)
    one = json.loads(parse(tmp_path / "a", "--format", "json").stdout)

    assert [value["file"] for value in several["values"]] == [str(tmp_path / "a"), str(tmp_path / "b")]
    assert "file" not in one["values"][0]


def test_what_a_name_holds_does_not_move_the_cursor(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("BenchmarkBPF/bench=%1B[2J%1B]0;title%07/p=[red]x-1 1 5 ns/op\n")
    ended = parse(tmp_path / "f")

    assert "\x1b" not in ended.stdout
    assert "p=[red]x" in ended.stdout
