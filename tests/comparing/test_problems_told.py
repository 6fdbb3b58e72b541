"""What a parser knows is wrong reaches every report: as the outcome of its case, or as a warning
of its file.
"""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from known_problems import BOTH, PROBLEMS, said

from cliffwatch.command.compare import compare
from cliffwatch.command.export import export
from cliffwatch.comparing.compare_run import Sides, compare_run
from cliffwatch.comparing.comparison import ComparisonSet
from cliffwatch.importing import ImportedFile, import_text, parse_file
from cliffwatch.parsers.readings import Parsed
from cliffwatch.pull_request.comment import check_run, sticky_comment
from cliffwatch.pull_request.state import Measured, PullRequestState, TargetState

DATA = Path(__file__).parents[1] / "data"
OUTSIDE = DATA / "outside"
FORMATS = ("text", "commit", "markdown", "mail", "html", "json", "benchstat", "go-bench")


def run(command: object, *arguments: object) -> Result:
    return CliRunner().invoke(command, [str(each) for each in arguments])  # type: ignore[arg-type]  # any click command


@pytest.fixture
def files(tmp_path: Path) -> Callable[[str, str], tuple[Path, Path]]:
    def written(base: str, head: str) -> tuple[Path, Path]:
        for name, text in (("base", base), ("head", head)):
            (tmp_path / name).write_text(text)
        return tmp_path / "base", tmp_path / "head"

    return written


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("kind", PROBLEMS)
def test_every_report_says_it(
    files: Callable[[str, str], tuple[Path, Path]], kind: str, format_: str
) -> None:
    base, head, wanted = PROBLEMS[kind]
    ended = run(compare, *files(base, head), "--format", format_)
    assert ended.exit_code == 0, ended.output
    # An export has the boots that failed, and not what a comparison says of their number.
    wanted = "flaky" if format_ == "go-bench" and "some boots" in kind else wanted
    assert wanted in said(ended.stdout), ended.stdout


def pull_request(base: str, head: str) -> PullRequestState:
    arms = []
    for text, name in ((base, "base"), (head, "head")):
        imported = import_text(text, name)
        assert isinstance(imported, ImportedFile)
        arms += imported.arms.values()
    compared = compare_run(Sides(base=arms[0], head=arms[1]))
    assert isinstance(compared, ComparisonSet)
    target = TargetState(platform="amd-rome", mode="walltime", progress=Measured(compared=compared))
    commits = {"base": "a" * 40, "head": "b" * 40}
    return PullRequestState(
        sequence=1, title="x", targets=(target,), repeat="cliffwatch run", links=(), **commits
    )


@pytest.mark.parametrize("kind", PROBLEMS)
def test_the_comment_and_the_check_run_say_it(kind: str) -> None:
    base, head, wanted = PROBLEMS[kind]
    state = pull_request(base, head)
    for text in (sticky_comment(state), check_run(state).summary):
        assert wanted in said(text).replace("`", ""), text


@pytest.mark.parametrize("kind", PROBLEMS)
def test_every_problem_is_of_the_file_and_named_by_parse(
    files: Callable[[str, str], tuple[Path, Path]], kind: str
) -> None:
    base, head, _ = PROBLEMS[kind]
    ours, theirs = files(base, head)
    good, bad = parse_file(ours), parse_file(theirs)
    assert isinstance(good, Parsed)
    assert isinstance(bad, Parsed)
    assert good.problems == ()
    assert bad.problems


@pytest.mark.parametrize("form", ["csv", "go-bench"])
@pytest.mark.parametrize("kind", PROBLEMS)
def test_an_export_keeps_it(
    files: Callable[[str, str], tuple[Path, Path]], tmp_path: Path, kind: str, form: str
) -> None:
    base, head = files(*PROBLEMS[kind][:2])
    wanted = run(compare, base, head, "--format", "json")
    for side in (base, head):
        assert run(export, side, "--format", form, "--out", tmp_path / f"{side.name}.out").exit_code == 0
    again = run(compare, tmp_path / "base.out", tmp_path / "head.out", "--format", "json")
    assert again.exit_code == 0, again.output
    counted = [
        [(row["benchmark"], row["verdict"]) for row in json.loads(each.stdout)["comparisons"]]
        for each in (wanted, again)
    ]
    assert counted[0] == counted[1]


@pytest.mark.parametrize(
    ("kind", "verdict"),
    [
        ("go: failed", "failed"),
        ("go: failed in some boots", "failed"),
        ("go: no number", "failed"),
        ("go: skipped", "missing"),
        ("veristat: refused", "failed"),
        ("bench: cut off", "failed"),
        ("bench: summary says another", "failed"),
    ],
)
def test_what_is_lost_can_end_a_pipeline(
    files: Callable[[str, str], tuple[Path, Path]], kind: str, verdict: str
) -> None:
    sides = files(*PROBLEMS[kind][:2])
    assert run(compare, *sides, "--fail-on", verdict).exit_code == 1
    assert run(compare, *sides, "--fail-on", "regression").exit_code == 0


def test_a_benchmark_that_failed_stands_first_and_once() -> None:
    folder = OUTSIDE / "failed-go-benchmark"
    ended = run(compare, folder / "base.txt", folder / "head.txt", "--fail-on", "failed", "--format", "json")
    rows = json.loads(ended.stdout)["comparisons"]
    assert ended.exit_code == 1
    assert [(row["benchmark"], row["verdict"]) for row in rows] == [("Monster", "failed"), ("A", "unchanged")]
    assert rows[0]["reason"] == "head: it failed: monster_test.go:125: open x: no such file"


def test_a_mail_says_first_that_a_benchmark_failed() -> None:
    folder = OUTSIDE / "failed-go-benchmark"
    ended = run(compare, folder / "base.txt", folder / "head.txt", "--format", "mail")
    assert "cliffwatch noticed: no change shown: 1 failed, 1 unchanged (" in ended.stdout


def test_a_program_that_head_refuses_stands_first_without_its_sizes() -> None:
    folder = OUTSIDE / "veristat-refused-by-head"
    ended = run(compare, folder / "base.csv", folder / "head.csv", "--fail-on", "failed", "--format", "json")
    rows = json.loads(ended.stdout)["comparisons"]
    assert ended.exit_code == 1
    assert (rows[0]["benchmark"], rows[0]["verdict"], rows[0]["head"]) == ("a.bpf.o/p2", "failed", None)
    assert rows[0]["reason"] == "head: the verifier refuses it"
    assert [row["benchmark"] for row in rows].count("a.bpf.o/p2") == 1
    (taken,) = (row for row in rows if row["benchmark"] == "a.bpf.o/p3")
    assert (taken["verdict"], taken["reason"]) == ("missing", "fixed: head takes it, and base refused it")


def test_one_bad_value_in_many_is_left_out_and_said(files: Callable[[str, str], tuple[Path, Path]]) -> None:
    good = "".join(f"BenchmarkA-8 100 {10 + number / 100} ns/op\n" for number in range(9))
    ended = run(compare, *files(good, good + "BenchmarkA-8 100 NaN ns/op\n"), "--format", "json")
    (row,) = json.loads(ended.stdout)["comparisons"]
    assert (row["verdict"] != "failed", row["n_head"]) == (True, 9)
    assert row["notes"] == ["1 value of head could not be read: 'NaN' is not a number"]


def test_a_sentence_in_a_mail_is_no_benchmark(files: Callable[[str, str], tuple[Path, Path]]) -> None:
    ended = run(compare, *files(BOTH, "BenchmarkFoo got slower, see below\n" + BOTH), "--format", "json")
    found = json.loads(ended.stdout)
    assert "failed" not in {row["verdict"] for row in found["comparisons"]}
    assert any("BenchmarkFoo got slower" in each["text"] for each in found["warnings"])


def test_warnings_cannot_write_to_a_terminal(files: Callable[[str, str], tuple[Path, Path]]) -> None:
    ended = run(compare, *files(BOTH, BOTH + "odd \x1b[31m\x07 line\n"), "--format", "json")
    assert all("\x1b" not in each["text"] for each in json.loads(ended.stdout)["warnings"])
