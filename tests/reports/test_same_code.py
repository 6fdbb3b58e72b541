"""Rows say whether base and head executed the same code: what is measured all the same is then evidence of
noise.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from cliffwatch.command.main import main

BENCHMARK, PARAMS = "local-storage-cache-hashmap-control", {"hashmap_nr_keys_used": "10"}
NEVER = "local-storage-cache-seq-get"


@pytest.fixture
def run(data: Path, tmp_path: Path) -> Path:
    shutil.copytree(data / "runs/uninlined", tmp_path / "run")
    return tmp_path / "run"


def with_digests(run: Path, **digests: str) -> Path:
    code = json.loads((run / "code.json").read_text())
    arms = [{"arm": arm, "digest": digest * 24} for arm, digest in digests.items()]
    of_case = {"functions": 4321, "names": 24 * "0", "arms": arms}
    case = {"suite": "local-storage", "benchmark": BENCHMARK, "params": PARAMS, "code": of_case}
    (run / "code.json").write_text(json.dumps({**code, "cases": [case]}))
    return run


def printed(run: Path, *options: str) -> str:
    return CliRunner().invoke(main, ["compare", str(run), *options], catch_exceptions=False).output


def rows(run: Path) -> list[Any]:
    return json.loads(printed(run, "--format", "json"))["comparisons"]


@pytest.mark.parametrize(("head", "same"), [("a", True), ("b", False)])
def test_json_says_of_a_row_whether_both_sides_execute_the_same_code(
    run: Path, head: str, same: bool
) -> None:
    of_cases = {
        (row["benchmark"], *row["params"].values()): row["same_code"]
        for row in rows(with_digests(run, base="a", head=head))
    }

    assert of_cases[BENCHMARK, "10"] is same
    assert [each for case, each in of_cases.items() if case[0] == NEVER] == [None] * 3


@pytest.mark.parametrize(
    ("head", "line"),
    [
        ("a", "  same code in base and head, by 4,321 executed functions: any difference is noise"),
        ("b", "  code that it executes differs between base and head, by 4,321 executed functions"),
    ],
)
def test_an_explained_row_says_it_too(run: Path, head: str, line: str) -> None:
    assert line in printed(with_digests(run, base="a", head=head), "--explain", BENCHMARK).splitlines()


def test_a_run_that_does_not_say_it_has_nothing_to_explain(run: Path) -> None:
    assert "any difference is noise" not in printed(run, "--explain", BENCHMARK)
    assert {row["same_code"] for row in rows(run)} == {None}


def test_of_an_arm_without_a_digest_nothing_is_known(run: Path) -> None:
    assert {row["same_code"] for row in rows(with_digests(run, base="a"))} == {None}
