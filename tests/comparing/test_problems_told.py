"""What a parser knows is wrong reaches every report: as the outcome of its case, or as a warning of its file."""

import html
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cliffwatch.command.compare import compare
from cliffwatch.command.export import export
from cliffwatch.importing import parse_file
from cliffwatch.parsers.readings import Parsed

DATA = Path(__file__).parents[1] / "data"
OUTSIDE = DATA / "outside"
FORMATS = ("text", "commit", "markdown", "mail", "html", "json", "benchstat", "go-bench")


def run(command: object, *arguments: object) -> Result:
    return CliRunner().invoke(command, [str(each) for each in arguments])  # type: ignore[arg-type]  # any click command


def go(text: str) -> str:
    return f"goos: linux\npkg: m\n{text}"


GOOD = "BenchmarkA-8 100 10 ns/op\n" * 6
BOTH = go(GOOD + "BenchmarkB-8 100 50 ns/op\n" * 6)
BENCH = (
    "Setting up benchmark 'bloom-lookup'...\nBenchmark 'bloom-lookup' started.\n"
    + "".join(
        f"Iter   {number} (  1.000us): hits   10.000M/s ( 10.000M/prod), drops    0.000M/s, total operations   10.000M/s\n"
        for number in range(4)
    )
    + "Summary: hits   10.000 ± 0.000M/s ( 10.000M/prod), drops    0.000 ± 0.000M/s, total operations   10.000 ± 0.000M/s\n"
)
CSV = "arm,boot,suite,benchmark,params,metric,unit,value\nhead,1,s,b,{},m,ns,3\n"
VERISTAT = "file_name,prog_name,verdict,total_insns\n"
KCIDB = {
    "version": {"major": 5, "minor": 3},
    "tests": [{"id": "a:1", "path": "x", "number": {"value": 3, "unit": "ns"}}],
}


def kcidb(status: str) -> str:
    """A second test beside one that is well."""
    test = {"id": "a:2", "path": "y", "status": status, "log_excerpt": "it hung", "number": {"value": 5, "unit": "ns"}}
    return json.dumps({**KCIDB, "tests": [*KCIDB["tests"], test]})  # type: ignore[misc]  # a list


# Base, head, and what every report must say of it.
PROBLEMS: dict[str, tuple[str, str, str]] = {
    "go: failed": (BOTH, go(GOOD + "--- FAIL: BenchmarkB\n    b_test.go:9: no such file\nFAIL\n"), "no such file"),
    "go: failed late": (
        BOTH,
        go(GOOD + "BenchmarkB-8 \t--- FAIL: BenchmarkB-8\n    b_test.go:9: no such file\nFAIL\n"),
        "no such file",
    ),
    "go: one part failed": (
        go(GOOD + "BenchmarkB/x=1-8 100 5 ns/op\n" * 6),
        go(GOOD + "    --- FAIL: BenchmarkB/x=1\n        b_test.go:9: boo hoo\n--- FAIL: BenchmarkB\nFAIL\n"),
        "boo hoo",
    ),
    "go: failed before its parts": (
        go(GOOD + "BenchmarkB/x=1-8 100 5 ns/op\n" * 6),
        go(GOOD + "--- FAIL: BenchmarkB\n    b_test.go:9: boo hoo\nFAIL\n"),
        "boo hoo",
    ),
    "go: failed in some boots": (
        BOTH,
        go(GOOD + "BenchmarkB-8 100 50 ns/op\n" * 3 + "--- FAIL: BenchmarkB-8\n    b_test.go:9: flaky\n" * 3),
        "head failed in 3 of 6 boots",
    ),
    "go: panic": (
        BOTH,
        go(GOOD + "BenchmarkB-8 \tpanic: boom\n\ngoroutine 7 [running]:\nm.f()\nexit status 2\n"),
        "boom",
    ),
    "go: timed out": (
        BOTH,
        go(GOOD + "BenchmarkB-8 \t*** Test killed with quit: ran too long (11m0s).\n"),
        "ran too long",
    ),
    "go: skipped": (BOTH, go(GOOD + "--- SKIP: BenchmarkB\n    b_test.go:3: needs root\n"), "needs root"),
    "go: build failed": (BOTH, "FAIL\tm [build failed]\npkg: n\n" + GOOD, "build failed"),
    "go: cut off": (BOTH, go(GOOD + "BenchmarkB-8 \t"), "it was cut off"),
    "go: cut line": (BOTH, go(GOOD + "BenchmarkB-8 100 5"), "its line is cut off"),
    "go: no number": (BOTH, go(GOOD + "BenchmarkB-8 100 NaN ns/op\n" * 6), "'NaN' is no number"),
    "go: no result": (BOTH, BOTH + "some words of somebody\n", "neither a result nor a setting"),
    "veristat: refused": (
        VERISTAT + "a.o,p,success,1000\na.o,q,success,5\n",
        VERISTAT + "a.o,p,failure,20\na.o,q,success,5\n",
        "the verifier refuses it",
    ),
    "veristat: too few columns": (
        VERISTAT + "a.o,p,success,1\n",
        VERISTAT + "a.o,p,success,1\na.o,q\n",
        "2 columns where",
    ),
    "veristat: no number": (VERISTAT + "a.o,p,success,1\n", VERISTAT + "a.o,p,success,many\n", "'many' of total_insns"),
    "bench: cut off": (BENCH, BENCH.partition("Summary")[0], "it was cut off"),
    "bench: failed": (
        BENCH,
        "Setting up benchmark 'bloom-lookup'...\nlibbpf: failed to load object 'bloom'\n",
        "failed to load object",
    ),
    "bench: summary says another": (BENCH, BENCH.replace("hits   10.000 ±", "hits   25.000 ±"), "the Summary says"),
    "bench: unknown line": (BENCH, BENCH + "Hi all, here are numbers\n", "not a line that bench is known to print"),
    "bencher: no value": ('{"a": {"latency": {"value": 3}}}', '{"a": {"latency": {"value": null}}}', "no finite value"),
    "kcidb: failed": (kcidb("DONE"), kcidb("FAIL"), "it hung"),
    "kcidb: missed": (kcidb("DONE"), kcidb("MISS"), "it hung"),
    "csv: no row": (
        CSV,
        CSV + "head,2,s,b,{},m,ns,few\n",
        "no finite number",
    ),
}


@pytest.fixture
def files(tmp_path: Path) -> Callable[[str, str], tuple[Path, Path]]:
    def written(base: str, head: str) -> tuple[Path, Path]:
        for name, text in (("base", base), ("head", head)):
            (tmp_path / name).write_text(text)
        return tmp_path / "base", tmp_path / "head"

    return written


def said(text: str) -> str:
    """A report without the marks of its format and where its lines break."""
    plain = html.unescape(text).replace("\\", "").replace("\N{ZERO WIDTH SPACE}", "")
    return re.sub(r"[\s|]+", " ", plain)


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("kind", PROBLEMS)
def test_every_report_says_it(files: Callable[[str, str], tuple[Path, Path]], kind: str, format_: str) -> None:
    base, head, wanted = PROBLEMS[kind]
    ended = run(compare, *files(base, head), "--format", format_)
    assert ended.exit_code == 0, ended.output
    # An export has the boots that failed, and not what a comparison says of their number.
    wanted = "flaky" if format_ == "go-bench" and "some boots" in kind else wanted
    assert wanted in said(ended.stdout), ended.stdout


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
        ("kcidb: failed", "failed"),
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
    assert row["notes"] == ["1 value of head could not be read: 'NaN' is no number"]


def test_a_sentence_in_a_mail_is_no_benchmark(files: Callable[[str, str], tuple[Path, Path]]) -> None:
    ended = run(compare, *files(BOTH, "BenchmarkFoo got slower, see below\n" + BOTH), "--format", "json")
    found = json.loads(ended.stdout)
    assert "failed" not in {row["verdict"] for row in found["comparisons"]}
    assert any("BenchmarkFoo got slower" in each["text"] for each in found["warnings"])


def test_warnings_cannot_write_to_a_terminal(files: Callable[[str, str], tuple[Path, Path]]) -> None:
    ended = run(compare, *files(BOTH, BOTH + "odd \x1b[31m\x07 line\n"), "--format", "json")
    assert all("\x1b" not in each["text"] for each in json.loads(ended.stdout)["warnings"])
