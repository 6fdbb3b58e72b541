"""`cliffwatch compare URL` prints the report that a service's page has."""

import urllib.request
from pathlib import Path

import pytest
from click.testing import CliRunner
from pages_named import COMPARISON
from service_running import Running

from cliffwatch.command.compare import compare


def printed(*arguments: str) -> tuple[int, str]:
    ended = CliRunner().invoke(compare, list(arguments))
    return ended.exit_code, ended.output


@pytest.mark.parametrize(("form", "suffix"), [("text", "txt"), ("commit", "commit"), ("json", "json")])
def test_the_address_of_a_page_is_enough(
    demonstration: Running, tmp_path: Path, form: str, suffix: str
) -> None:
    address, written = f"{demonstration.url}/compare/{COMPARISON}", tmp_path / "report"
    status, _ = printed(address, "--format", form, "--report-out", str(written))
    assert status == 0
    with urllib.request.urlopen(f"{address}.{suffix}") as reply:
        assert written.read_text() == reply.read().decode()


def test_the_page_of_a_run_and_filters_are_taken_too(demonstration: Running) -> None:
    status, output = printed(f"{demonstration.url}/compare/{COMPARISON}.json?mode=icount")
    assert status == 0
    assert "amd-rome" not in output


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/compare/ffffffffffff...eeeeeeeeeeee", "it knows no such run or revisions"),
        ("/series", "is not the address of a comparison or run"),
        (f"/compare/{COMPARISON}/cases/a/b/c", "is not the address of a comparison or run"),
    ],
)
def test_other_addresses_are_refused(demonstration: Running, path: str, said: str) -> None:
    status, output = printed(demonstration.url + path)
    assert status == 2
    assert said in output


def test_a_service_that_is_away_is_the_hosts_failure(unused_tcp_url: str) -> None:
    status, output = printed(f"{unused_tcp_url}/compare/{COMPARISON}")
    assert status == 4
    assert "check the address" in output


@pytest.mark.parametrize(
    "option",
    [
        ["--format", "html"],
        ["--explain", "x"],
        ["--fail-on", "regression"],
        ["--less", "loop.txt"],
        ["--ignore-procs"],
        ["--confirm", "a.txt", "b.txt"],
        ["head.txt"],
    ],
)
def test_what_a_service_does_not_write_is_refused(option: list[str]) -> None:
    status, output = printed(f"http://127.0.0.1/compare/{COMPARISON}", *option)
    assert status == 2
    assert "compare the runs' files" in output


def test_an_address_as_the_second_side_is_refused_too() -> None:
    status, output = printed("base.txt", f"http://127.0.0.1/compare/{COMPARISON}", "--token-file", "token")
    assert status == 2
    assert "an address is compared alone" in output


@pytest.mark.parametrize("sides", [("base.txt",), ("base.txt", "head.txt")])
def test_a_token_that_files_have_no_use_for_is_refused(sides: tuple[str, ...]) -> None:
    status, output = printed(*sides, "--token-file", "token")
    assert status == 2
    assert "--token-file is for the address of a service, and base.txt is a file" in output
