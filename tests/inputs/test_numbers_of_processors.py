"""`BenchmarkAdd-8` against `BenchmarkAdd-16`: other cases, which is said, and compared where somebody asks
for it.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from reading import CASES

from cliffwatch.command.main import main

BASE, HEAD = (CASES / f"pipe-drops-first-8k/{side}.txt" for side in ("base", "head"))


def compare(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["compare", *map(str, arguments)], catch_exceptions=False)


def with_suffix(folder: Path, path: Path, suffix: str) -> Path:
    (folder / path.name).write_text(path.read_text().replace("-8 ", f"{suffix} "))
    return folder / path.name


def rows(ended: Result) -> list[Any]:
    return [
        [row["benchmark"], row["base"], row["head"], row["verdict"]]
        for row in json.loads(ended.stdout)["comparisons"]
    ]


@pytest.mark.parametrize(("suffix", "said"), [("-16", "-8 against -16"), ("", "-8 against none")])
def test_other_numbers_are_said_and_compared_where_asked(tmp_path: Path, suffix: str, said: str) -> None:
    head = with_suffix(tmp_path, HEAD, suffix)

    assert said in compare(BASE, head).stdout
    assert "--ignore-procs compares them" in compare(BASE, head, "--format", "markdown").stdout
    assert {row[-1] for row in rows(compare(BASE, head, "--format", "json"))} == {"missing"}
    ignored = compare(BASE, head, "--ignore-procs", "--format", "json")
    assert rows(ignored) == rows(compare(BASE, HEAD, "--format", "json"))
    assert "--ignore-procs" not in ignored.stdout


def test_equal_numbers_are_not_spoken_of(tmp_path: Path) -> None:
    assert "--ignore-procs" not in compare(BASE, HEAD).stdout
    both = tmp_path / "both.txt"
    both.write_text(BASE.read_text() + BASE.read_text().replace("-8 ", "-16 "))
    assert "--ignore-procs" not in compare(both, HEAD).stdout


def test_what_ran_on_several_numbers_is_not_made_one_case(tmp_path: Path) -> None:
    both = tmp_path / "both.txt"
    both.write_text(BASE.read_text() + BASE.read_text().replace("-8 ", "-16 "))
    ended = compare(both, HEAD, "--ignore-procs")

    assert ended.exit_code == 2
    assert "has benchmarks on several numbers of processors (8, 16)" in ended.stderr


def test_the_option_is_of_two_sides() -> None:
    ended = compare(BASE, "--ignore-procs")

    assert ended.exit_code == 2
    assert "--ignore-procs" in ended.stderr
