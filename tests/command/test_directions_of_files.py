"""Files with units that no catalogue knows: worse, better, or a change that nobody judges."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from cliffwatch.command.main import main
from cliffwatch.parsers.go_bench import parse_go_bench

UNITS = ("ns/op", "requests/sec", "insn-per-cycle", "score")


def written(folder: Path, name: str, factor: float, header: str = "") -> Path:
    """Twelve boots that differ by up to 0.2 %, every value times the factor."""
    boots = [factor * 100 * (1 + 0.0002 * number) for number in range(12)]
    lines = [f"BenchmarkLookup 1 {' '.join(f'{value:.6f} {unit}' for unit in UNITS)}" for value in boots]
    path = folder / name
    path.write_text(header + "\n".join(lines) + "\n")
    return path


def compared(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["compare", *map(str, arguments)], catch_exceptions=False)


def verdicts(tmp_path: Path, header: str = "") -> dict[str, tuple[str, str | None]]:
    sides = written(tmp_path, "a.txt", 1.0, header), written(tmp_path, "b.txt", 1.1, header)
    rows: list[dict[str, Any]] = json.loads(compared(*sides, "--format", "json").stdout)["comparisons"]
    return {row["metric"]: (row["verdict"], row["better"]) for row in rows}


def test_ten_per_cent_more_is_worse_better_or_neither(tmp_path: Path) -> None:
    assert verdicts(tmp_path) == {
        "ns/op": ("regression", "lower"),
        "requests/sec": ("improvement", "higher"),
        "insn-per-cycle": ("improvement", "higher"),
        "score": ("changed", None),
    }


@pytest.mark.parametrize(("way", "verdict"), [("higher", "improvement"), ("lower", "regression")])
def test_a_file_may_say_which_way_is_better(tmp_path: Path, way: str, verdict: str) -> None:
    assert verdicts(tmp_path, f"Unit score better={way}\n")["score"] == (verdict, way)


def test_what_a_file_says_of_a_tidied_unit_holds_for_the_unit() -> None:
    parsed = parse_go_bench(
        "BenchmarkA 1 5 p50-ns 3 MB/s 1 GC-ns/op\nUnit p50-sec better=lower\nUnit B/s assume=exact\nUnit"
        " GC-sec/op better=higher\n"
    )
    assert {metric: (each.better, each.assume) for (metric, _), each in parsed.assumed.items()} == {
        "p50-ns": ("lower", None),
        "MB/s": (None, "exact"),
        "GC": ("higher", None),
    }


def test_a_change_that_nobody_judged_is_in_every_format(tmp_path: Path) -> None:
    sides = written(tmp_path, "a.txt", 1.0), written(tmp_path, "b.txt", 1.1)
    for format_ in ("text", "commit", "markdown", "mail", "html"):
        shown = compared(*sides, "--format", format_).stdout
        assert "changed" in shown, format_
        assert "nobody said which way is better" in " ".join(shown.split()), format_
        assert "+10.00" in shown or "+10.0%" in shown, format_
    assert "≠ changed" in compared(*sides).stdout
    assert "(1 slower, 2 better, 1 changed)" in compared(*sides).stdout


def test_it_is_a_change_and_no_regression_to_a_check(tmp_path: Path) -> None:
    header = "Unit ns/op better=higher\n"
    sides = written(tmp_path, "a.txt", 1.0, header), written(tmp_path, "b.txt", 1.1, header)
    assert compared(*sides, "--fail-on", "regression").exit_code == 0
    assert compared(*sides, "--fail-on", "changed").exit_code == 1


def test_an_export_says_no_direction_that_nobody_said(tmp_path: Path) -> None:
    sides = written(tmp_path, "a.txt", 1.0), written(tmp_path, "b.txt", 1.1)
    exported = compared(*sides, "--format", "go-bench").stdout
    assert "Unit score assume=nothing\n" in exported
    assert "Unit requests/sec better=higher assume=nothing\n" in exported


def test_arms_of_a_file_that_are_not_compared_are_named(tmp_path: Path) -> None:
    mail = tmp_path / "mail"
    mail.write_text(
        "".join(f"{side}:\nBenchmarkA-8 100 9 ns/op\n" for side in ("Before", "After v1", "After v2"))
    )

    ended = CliRunner().invoke(main, ["compare", str(mail)], catch_exceptions=False)

    assert (
        f"{mail} also holds head-2, not compared here: cliffwatch compare {mail}:base {mail}:head-2"
        in ended.stderr
    )
