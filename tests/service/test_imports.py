"""A file that is imported is judged as `cliffwatch compare` judges it: one way from its text to the arms."""

from pathlib import Path
from typing import Any

import pytest
from known_problems import PROBLEMS, said
from service_running import Running

from cliffwatch.comparing.compare_run import Sides, compare_run
from cliffwatch.comparing.comparison import ComparisonSet
from cliffwatch.importing import ImportedFile, import_text

OUTSIDE = Path(__file__).parents[1] / "data/outside"
BASE, HEAD = "a" * 40, "b" * 40
LONG = "L" * 300


def posted(http: Any, text: str, name: str, revision: str | None = None) -> Any:
    params = {"platform": "amd-rome", "mode": "walltime", "name": name}
    params |= {"revision": revision} if revision else {}
    return http.post(
        "/api/v1/imports", params=params, content=text.encode(), headers={"Content-Type": "text/plain"}
    )


def compared_by_service(running: Running, base: str, head: str, *, seed: str) -> dict[str, Any]:
    """The comparison of two imported texts; `seed` makes revisions that no other test has."""
    revisions = [(seed + letter).ljust(40, letter) for letter in "ab"]
    with running.http("upload") as http:
        for text, name, revision in ((base, "base.txt", revisions[0]), (head, "head.txt", revisions[1])):
            made = posted(http, text, name, revision)
            assert made.status_code in (200, 201), made.text
        answer = http.get(f"/api/v1/comparisons/{revisions[0]}...{revisions[1]}").raise_for_status().json()
    assert isinstance(answer, dict)
    return answer


def compared_by_command(base: str, head: str) -> ComparisonSet:
    sides = [import_text(text, name) for text, name in ((base, "base.txt"), (head, "head.txt"))]
    assert isinstance(sides[0], ImportedFile)
    assert isinstance(sides[1], ImportedFile)
    (ours,), (theirs,) = sides[0].arms.values(), sides[1].arms.values()
    compared = compare_run(Sides(base=ours, head=theirs))
    assert isinstance(compared, ComparisonSet)
    return compared


def read(*path: str) -> str:
    return OUTSIDE.joinpath(*path).read_text()


GO = "goos: linux\npkg: example.com/m\ncpu: {cpu}\n"
PAIRS = {
    "counted": (read("import-go-benchmem", "base.csv"), read("import-go-benchmem", "head.csv")),
    "refused": (read("veristat-refused-by-head", "base.csv"), read("veristat-refused-by-head", "head.csv")),
    "failed": (read("failed-go-benchmark", "base.txt"), read("failed-go-benchmark", "head.txt")),
    "zero": (read("zero-base", "base.txt"), read("zero-base", "head.txt")),
    "machines": (read("go-other-cpu", "amd.txt"), read("go-other-cpu", "arm.txt")),
    "odd units": (
        "BenchmarkA 1 10 requests/sec 3 p99-ns\n" * 6,
        "BenchmarkA 1 20 requests/sec 3 p99-ns\nhello there\n" * 6,
    ),
    "assumed": (
        "Unit widgets better=lower assume=exact\nBenchmarkA 1 10 widgets\n",
        "BenchmarkA 1 11 widgets\n",
    ),
    "no number": ("BenchmarkA 1 10 ns/op 5 x/op\n" * 6, "BenchmarkA 1 10 ns/op NaN x/op\n" * 6),
}


@pytest.mark.parametrize("kind", PAIRS)
def test_an_import_says_what_compare_says(running: Running, kind: str) -> None:
    base, head = PAIRS[kind]
    wanted = compared_by_command(base, head)
    seed = f"{list(PAIRS).index(kind):02x}"
    answer = compared_by_service(running, base, head, seed=seed)

    rows = [
        (
            row["benchmark"],
            row["metric"],
            row["base"],
            row["head"],
            row["change"],
            row["verdict"],
            row["reason"],
        )
        for row in answer["comparisons"]
    ]
    assert sorted(rows, key=str) == sorted(
        [
            (row.case.benchmark, row.metric, row.base, row.head, row.change, row.verdict, row.reason)
            for row in wanted.rows
        ],
        key=str,
    )
    (target,) = answer["targets"]
    assert [each["text"] for each in target["warnings"]] == list(wanted.warnings)


def test_all_units_of_a_benchmem_file_are_stored(running: Running) -> None:
    with running.http("upload") as http:
        made = posted(http, read("import-go-benchmem", "go.txt"), "go.txt").raise_for_status().json()
    assert (made["boots"], made["samples"], made["problems"]) == (6, 36, [])


@pytest.mark.parametrize(
    "text",
    [
        f"BenchmarkA 1 10 ns/op\nBenchmark{LONG} 1 10 ns/op\n",
        f"BenchmarkA 1 10 ns/op\nBenchmarkB 1 10 {LONG}\n",
        f"BenchmarkA 1 10 ns/op\n--- FAIL: Benchmark{LONG}\n",
    ],
)
def test_an_error_names_the_line(running: Running, text: str) -> None:
    with running.http("upload") as http:
        refused = posted(http, text, "long.txt")
    assert refused.status_code == 422
    assert "line 2 of the file" in refused.json()["detail"]


def test_a_file_of_failures_alone_is_a_result(running: Running) -> None:
    with running.http("upload") as http:
        made = posted(
            http, "pkg: m\n--- FAIL: BenchmarkA\n    a_test.go:1: broken\nFAIL\tm\t0.1s\n", "failed.txt"
        )
    assert made.status_code == 201
    assert made.json()["problems"][0]["line"] == 2


@pytest.mark.parametrize("kind", PROBLEMS)
def test_the_api_and_the_compare_page_say_every_problem(running: Running, kind: str) -> None:
    base, head, wanted = PROBLEMS[kind]
    seed = f"d{list(PROBLEMS).index(kind):02x}"
    answer = compared_by_service(running, base, head, seed=seed)
    pair = "...".join((seed + letter).ljust(40, letter) for letter in "ab")
    with running.http("upload") as http:
        page = http.get(f"/compare/{pair}", headers={"Accept": "text/html"}).raise_for_status().text
    assert wanted in str(answer)
    assert wanted in said(page), page
