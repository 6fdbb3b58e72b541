"""Series over revisions, steps in them, and the regression inbox."""

import csv
import io
import json
from dataclasses import replace
from itertools import pairwise
from typing import Any

import psycopg
import pyarrow.parquet
import pytest
from made_documents import made_record
from service_running import Running
from service_runs import commit_of, put_all, run_of

from cliffwatch.parsers.go_bench import parse_go_bench
from cliffwatch_service.ingest.environments import environment_facts, epoch_differences, epoch_of

TREE = "https://git.example.org/bpf-next.git"


def branch_of(running: Running, names: list[str]) -> int:
    """A followed branch of these revisions, the oldest first."""
    return int(running.follow(TREE, "master", [commit_of(name) for name in names]))


def measure(running: Running, *made: Any) -> None:
    """As enrolled hosts do for jobs of the branch."""
    for run in made:
        running.measure(run)
    running.do_tasks()


def upload(running: Running, *made: Any) -> None:
    """As anybody does by hand."""
    with running.http("upload") as http:
        for run in made:
            put_all(http, run)
    running.do_tasks()


def seq_get(running: Running) -> str:
    listed = running.get("/series", benchmark="local-storage-cache-seq-get")
    return str(listed["items"][0]["series"])


def test_history_goes_along_the_branch_whatever_came_first(running: Running) -> None:
    names = [f"r{index}" for index in range(5)]
    branch_of(running, names)
    pairs = list(pairwise(names))
    for seed in (2, 0, 3, 1):
        base, head = pairs[seed]
        measure(running, run_of(boots=3, cases=1, base=base, head=head, seed=seed))
    points = running.get(f"/series/{seq_get(running)}/history", tree=TREE, branch="master")["points"]
    ordinals = [point["ordinal"] for point in points]
    assert ordinals == sorted(ordinals, reverse=True)
    assert set(ordinals) == {0, 1, 2, 3, 4}
    assert points[0]["commit"] == commit_of("r4")
    assert points[0]["n"] == 3


def test_another_compiler_begins_another_epoch(running: Running) -> None:
    branch_of(running, ["r0", "r1", "r2"])
    measure(running, run_of(boots=3, cases=1, base="r0", head="r1", seed=1))
    measure(running, run_of(boots=3, cases=1, base="r1", head="r2", seed=2, config="e" * 64))
    points = running.get(f"/series/{seq_get(running)}/history", tree=TREE, branch="master")["points"]
    assert len({point["epoch"] for point in points}) == 2


BEFORE = {
    "cpu": {"model_name": "AMD EPYC 7502", "microcode": ["0x830107b"]},
    "dmi": {"bios_version": "2.8", "bios_date": "01/02/2026"},
    "kernel": {"release": "6.12.48+deb13-amd64", "version": "#1 SMP"},
}


@pytest.mark.parametrize(
    ("part", "member", "value", "words"),
    [
        ("cpu", "microcode", ["0x830107c"], "microcode: 0x830107b, then 0x830107c"),
        ("dmi", "bios_version", "2.9", "bios: 2.8 01/02/2026, then 2.9 01/02/2026"),
        ("kernel", "release", "6.13", "host-kernel: 6.12.48+deb13-amd64 #1 SMP, then 6.13 #1 SMP"),
    ],
)
def test_an_update_of_the_host_is_another_epoch_in_walltime_alone(
    part: str, member: str, value: Any, words: str
) -> None:
    updated = {**BEFORE, part: {**BEFORE[part], member: value}}
    old, new = (made_record(mode="walltime", host=host) for host in (BEFORE, updated))
    facts = [environment_facts(record) for record in (old, new)]
    assert epoch_of(old) != epoch_of(new)
    assert epoch_differences(facts[0], facts[1], "walltime") == [words]
    counted = [made_record(mode="icount", host=host) for host in (BEFORE, updated)]
    assert epoch_of(counted[0]) == epoch_of(counted[1])
    assert epoch_differences(facts[0], facts[1], "icount") == []


@pytest.mark.parametrize(
    ("part", "member", "value", "words"),
    [
        ("kernel", "version", "#2 SMP", "then 6.12.48+deb13-amd64 #2 SMP"),
        ("dmi", "board_name", "another", None),
    ],
)
def test_an_update_of_the_host_begins_an_epoch_that_says_what_changed_and_hides_no_step(
    running: Running, part: str, member: str, value: Any, words: str | None
) -> None:
    """The step is in the update, as a slower host makes it."""
    names = [f"r{index}" for index in range(31)]
    branch_of(running, names)
    updated = {**BEFORE, part: {**BEFORE[part], member: value}}
    for index, (base, head) in enumerate(pairwise(names)):
        made = run_of(boots=6, cases=1, base=base, head=head, seed=index, spread=0.001)
        made.record["host"] = BEFORE if index < 15 else updated
        made.logs[:] += 0.0 if index < 15 else 0.1
        measure(running, made)
    series = seq_get(running)
    whole = running.get(f"/series/{series}/history", tree=TREE, branch="master")
    with running.http(None) as http:
        page = http.get(f"/series/{series}").raise_for_status().text
    steps = running.rows("SELECT 1 FROM confirmation")

    if words is None:
        assert whole["epochs"] == []
        assert len(steps) == 1
        return
    (begin,) = whole["epochs"]
    assert words in begin["differences"][0]
    assert len(begin["differences"]) == 1
    assert begin["differences"][0] in page.replace("&#43;", "+")
    assert steps == []


def test_a_busy_minute_begins_no_epoch(running: Running) -> None:
    """Load and free memory are recorded and make nothing another environment."""
    one, other = run_of(boots=1, cases=1, seed=1), run_of(boots=1, cases=1, seed=2)
    other.record["host"]["load_average"] = [9, 9, 9]
    upload(running, one, other)
    assert running.rows("SELECT count(*) AS n FROM environment") == [{"n": 1}]


def test_the_samples_of_a_revision_are_all_there(running: Running) -> None:
    run = run_of(boots=5, cases=3)
    upload(running, run)
    samples = running.get(f"/series/{seq_get(running)}/samples", revision=commit_of("head"))["samples"]
    assert len(samples) == 5
    assert {sample["arm"] for sample in samples} == {"head"}


def test_a_regression_between_neighbours_opens_one_report(running: Running) -> None:
    branch_of(running, ["r0", "r1"])
    run = run_of(boots=8, cases=6, base="r0", head="r1", shift=0.1)
    measure(running, run)
    inbox = running.get("/reports")["items"]
    assert [(each["head"], each["state"], each["changes"]) for each in inbox] == [(commit_of("r1"), "new", 1)]
    assert inbox[0]["largest"] == pytest.approx(0.1, abs=0.03)

    whole = running.get(f"/reports/{inbox[0]['report']}")
    assert [change["benchmark"] for change in whole["changes"]] == ["local-storage-cache-seq-get"]


def test_a_change_that_nobody_judged_is_kept_and_opens_no_report(running: Running) -> None:
    branch_of(running, ["r0", "r1"])
    run = replace(run_of(boots=8, cases=6, base="r0", head="r1", shift=0.1), measured=("score", "%"))
    measure(running, run)
    assert running.get("/reports")["items"] == []
    (change,) = running.get("/changes")["items"]
    assert (change["kind"], change["metric"], change["report"]) == ("changed", "score", None)
    (target,) = running.get(f"/comparisons/{commit_of('r0')}...{commit_of('r1')}")["targets"]
    assert (target["counts"]["changed"], target["counts"]["regression"]) == (1, 0)
    with psycopg.connect(running.database) as connection:
        asked = "SELECT changed, regressions, unchanged + inconclusive FROM dashboard.branch_comparison"
        assert connection.execute(asked).fetchall() == [(1, 0, 5)]
    with running.http() as http:
        page = http.get(f"/compare/{commit_of('r0')}...{commit_of('r1')}").text
        home = http.get("/").text
    assert "≠ +" in page
    assert "changed</b>" in page
    assert "is better" not in page
    assert 'class="cell changed"' in home


def test_sides_of_two_runs_are_said_to_be_apart(running: Running) -> None:
    branch_of(running, ["r0", "r1", "r2"])
    for seed, (base, head) in enumerate(pairwise(["r0", "r1", "r2"]), start=1):
        measure(running, run_of(boots=8, cases=3, base=base, head=head, seed=seed))
    said = {}
    for base in ("r0", "r1"):
        pair = f"{commit_of(base)}...{commit_of('r2')}"
        (target,) = running.get(f"/comparisons/{pair}")["targets"]
        with running.http() as http:
            said[base] = (
                target["warnings"],
                "Nothing says that base and head took turns" in http.get(f"/compare/{pair}").text,
            )
    assert said["r1"] == ([], False)
    (warning,), on_page = said["r0"]
    assert warning["arm"] == "head"
    assert warning["text"].startswith("Nothing says that base and head took turns")
    assert on_page


def test_what_is_left_of_two_runs_differs_between_two_measurements(running: Running) -> None:
    branch_of(running, ["r0", "r1", "r2"])
    measure(running, run_of(boots=12, cases=3, base="r0", head="r1", seed=1))
    measure(running, run_of(boots=12, cases=3, base="r1", head="r2", shift=0.5, seed=2))
    with running.http() as http:
        page = http.get(f"/compare/{commit_of('r0')}...{commit_of('r2')}").text
        neighbours = http.get(f"/compare/{commit_of('r1')}...{commit_of('r2')}").text
    assert "1 differs between the two measurements (1 slower) by" in page
    assert "Differ between the two measurements" in page
    assert "between the two measurements" not in neighbours


def test_both_platforms_changes_of_one_culprit_lie_together(running: Running) -> None:
    branch_of(running, ["r0", "r1"])
    measure(
        running,
        run_of(boots=8, cases=3, base="r0", head="r1", shift=0.1, seed=1),
        run_of(
            boots=8, cases=3, base="r0", head="r1", shift=0.1, seed=2, platform="intel-skylake", host="sky-1"
        ),
    )
    (report,) = running.get("/reports")["items"]
    assert sorted(report["platforms"]) == ["amd-rome", "intel-skylake"]


def test_cousins_have_no_culprit(running: Running) -> None:
    upload(running, run_of(boots=8, cases=3, shift=0.1))
    assert running.get("/reports")["items"] == []


def test_triage_is_kept_with_who_when_and_why(running: Running) -> None:
    branch_of(running, ["r0", "r1"])
    measure(running, run_of(boots=8, cases=3, base="r0", head="r1", shift=0.1))
    (report,) = running.get("/reports")["items"]
    address = f"/api/v1/reports/{report['report']}/triage"
    with running.http("triage") as http:
        http.post(
            address, json={"state": "acknowledged", "owner": "someone", "note": "bisected"}
        ).raise_for_status()
        http.post(address, json={"state": "expected", "note": "the price of a fix"}).raise_for_status()
    with running.http("upload") as http:
        assert http.post(address, json={"state": "noise"}).status_code == 403

    whole = running.get(f"/reports/{report['report']}")
    assert [(entry["state"], entry["by"], entry["note"]) for entry in whole["triage"]] == [
        ("acknowledged", "triage", "bisected"),
        ("expected", "triage", "the price of a fix"),
    ]
    assert running.get("/reports")["items"] == []
    assert running.get("/reports", state="expected")["items"][0]["report"] == report["report"]
    assert running.get("/reports/quality")["judged"] == 1


def test_a_step_in_history_is_a_candidate_and_no_report(running: Running) -> None:
    """Twenty revisions on one level and ten on another, each measured against the one before in too few boots
    to tell.
    """
    names = [f"r{index:02d}" for index in range(31)]
    branch_of(running, names)
    made = []
    for index, (base, head) in enumerate(pairwise(names)):
        run = run_of(boots=3, cases=1, base=base, head=head, seed=index, spread=0.002)
        run.logs[0, :, 0] += 0.08 * (index > 20)
        run.logs[1, :, 0] += 0.08 * (index >= 20)
        made.append(run)
    measure(running, *made)
    changes = running.get("/changes", state="candidate")["items"]
    assert [(change["head"], change["kind"]) for change in changes] == [(commit_of("r21"), "step")]
    assert changes[0]["size"] == pytest.approx(0.083, abs=0.01)
    assert running.get("/reports")["items"] == []


@pytest.mark.parametrize("form", ["json", "csv", "go-bench", "parquet"])
def test_every_export_holds_every_sample(running: Running, form: str) -> None:
    run = run_of(boots=3, cases=4)
    upload(running, run)
    with running.http(None) as http:
        body = (
            http.get(f"/api/v1/runs/{run.digest}/export", params={"format": form}).raise_for_status().content
        )
    read = {
        "json": lambda: [each["value"] for each in json.loads(body)["samples"]],
        "csv": lambda: [float(row["value"]) for row in csv.DictReader(io.StringIO(body.decode()))],
        "go-bench": lambda: [sample.value for sample in parse_go_bench(body.decode()).samples],
        "parquet": lambda: pyarrow.parquet.read_table(io.BytesIO(body)).column("value").to_pylist(),
    }[form]()
    stored = [value for row in running.rows("SELECT samples FROM boot") for value in row["samples"]]
    assert sorted(read) == sorted(stored)
    assert len(read) == 24


def test_a_go_benchmark_file_is_imported_once(running: Running) -> None:
    text = "".join(f"BenchmarkMapLookup-1 1000 {100 + index} ns/op\n" for index in range(5))
    with running.http("upload") as http:
        params = {"platform": "amd-rome", "mode": "walltime", "name": "ebpf.txt", "revision": commit_of("go")}
        first = http.post(
            "/api/v1/imports", params=params, content=text, headers={"Content-Type": "text/plain"}
        )
        again = http.post(
            "/api/v1/imports", params=params, content=text, headers={"Content-Type": "text/plain"}
        )
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json()["run"] == again.json()["run"]
    assert first.json()["boots"] == 5
    running.do_tasks()
    assert running.get("/series")["items"][0]["benchmark"] == "MapLookup"


def test_a_file_without_results_is_refused_with_the_reason(running: Running) -> None:
    with running.http("upload") as http:
        params = {"platform": "amd-rome", "mode": "walltime", "name": "x"}
        answer = http.post(
            "/api/v1/imports", params=params, content="hello\n", headers={"Content-Type": "text/plain"}
        )
    assert answer.status_code == 422
    assert running.rows("SELECT id FROM run") == []


def test_a_file_with_two_arms_is_refused_rather_than_pooled(running: Running) -> None:
    run = run_of(boots=3, cases=4)
    upload(running, run)
    with running.http("upload") as http:
        text = (
            http.get(f"/api/v1/runs/{run.digest}/export", params={"format": "go-bench"})
            .raise_for_status()
            .text
        )
        params = {"platform": "amd-rome", "mode": "walltime", "name": "export.txt"}
        answer = http.post(
            "/api/v1/imports", params=params, content=text, headers={"Content-Type": "text/plain"}
        )
    assert answer.status_code == 422
    assert "the file holds 2 arms: base, head: import one at a time" in answer.json()["detail"]
    assert len(running.rows("SELECT id FROM run")) == 1
