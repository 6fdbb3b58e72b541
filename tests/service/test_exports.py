"""What the service gives away of a run holds all of it, and comes back."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from service_running import Running
from service_runs import boots_of, commit_of, put_all, run_of

from cliffwatch.comparing.compare_run import Sides, compare_run
from cliffwatch.comparing.comparison import ComparisonSet
from cliffwatch.formats.result_directory import Run, read_run
from cliffwatch.importing import ImportedFile, import_file
from cliffwatch.parsers.table.columns import NAMES
from cliffwatch.reports.json_report import comparison_row
from cliffwatch_runner.upload.result_directory import upload_run
from cliffwatch_service.compare.analysis import load_arms
from cliffwatch_service.store import run_arms, runs


def exported(running: Running, run: str, path: Path, **params: str) -> Path:
    with running.http(None) as http:
        path.write_bytes(http.get(f"/api/v1/runs/{run}/export", params=params).raise_for_status().content)
    return path


def imported(path: Path) -> ImportedFile:
    found = import_file(path)
    assert isinstance(found, ImportedFile), found
    return found


def stored_arms(running: Running, digest: str) -> dict[str, Any]:
    with running.service.transaction() as connection:
        run = runs.run_row(connection, digest)
        rows = run_arms.arms_of(connection, run.id)
        return {stored.row.name: stored.arm for stored in load_arms(connection, [(run, row) for row in rows])}


def failing(run: Any) -> Any:
    """Bodies of boots of which two lost a case."""
    for number, body in boots_of(run):
        if number in (2, 4):
            lost = body["samples"].pop()
            case = {name: lost[name] for name in ("suite", "benchmark", "params")}
            body["outcomes"] = [each for each in body["outcomes"] if each["params"] != case["params"]]
            body["outcomes"].append({**case, "status": "panic", "reason": "=BUG: at mm/slub.c"})
        yield number, body


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_an_export_is_compared_as_the_run_that_is_stored(running: Running, tmp_path: Path, form: str) -> None:
    run = run_of(boots=6, cases=4, shift=0.1)
    with running.http("upload") as http:
        put_all(http, run, list(failing(run)))
    back = imported(exported(running, run.digest, tmp_path / "export", format=form))
    stored = stored_arms(running, run.digest)

    def rows(arms: Any) -> Any:
        compared = compare_run(Sides(base=arms["base"], head=arms["head"], one_run=True))
        assert isinstance(compared, ComparisonSet)
        return [comparison_row(row) for row in compared.rows]

    assert (back.run, back.one_run, list(back.arms)) == (run.digest, True, ["base", "head"])
    assert rows(back.arms) == rows(stored)
    assert {name: arm.environment for name, arm in back.arms.items()} == {
        n: arm.environment for n, arm in stored.items()
    }


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_what_a_host_has_on_its_disk_comes_back_from_the_service(
    running: Running, data: Path, tmp_path: Path, form: str
) -> None:
    folder = data / "runs/uninlined"
    upload_run(running.client("upload"), folder, "emulator-1")
    (listed,) = running.get("/runs")["items"]
    back, run = imported(exported(running, listed["run"], tmp_path / "export", format=form)), read_run(folder)
    assert isinstance(run, Run)
    for name, arm in run.arms.items():
        assert back.arms[name].facts == arm.facts
        assert back.arms[name].environment == arm.environment
        for boot, of_run in zip(back.arms[name].boots, arm.boots, strict=True):
            assert set(boot.samples) == set(of_run.samples)
            assert set(boot.outcomes) == set(of_run.outcomes)


@pytest.mark.parametrize("form", ["csv", "parquet", "go-bench"])
def test_what_is_amiss_with_the_host_is_exported(running: Running, tmp_path: Path, form: str) -> None:
    run = run_of(boots=3, cases=1)
    run.record["host_faults"] = ["smt: on", "boost: on"]
    with running.http("upload") as http:
        put_all(http, run)

    back = imported(exported(running, run.digest, tmp_path / "export", format=form))

    assert {arm.host_faults for arm in back.arms.values()} == {("smt: on", "boost: on")}


def test_json_has_the_columns_of_the_table(running: Running) -> None:
    run = run_of(boots=1, cases=2)
    with running.http("upload") as http:
        put_all(http, run)
    found = running.get(f"/runs/{run.digest}/export", format="json", arm="head")
    assert (found["format"], found["format_version"], len(found["samples"])) == ("cliffwatch-samples", 1, 2)
    assert tuple(found["samples"][0]) == NAMES
    assert found["samples"][0]["about"]["facts"]["commit"] == commit_of("head")
    assert found["samples"][1]["about"] is None
    assert {each["arm"] for each in found["samples"]} == {"head"}


def test_kcidb_and_bencher_get_what_their_schemas_ask_for(running: Running, data: Path) -> None:
    run = run_of(boots=3, cases=2)
    with running.http("upload") as http:
        put_all(http, run)
        schema = json.loads((data / "kcidb/v05_03.schema.json").read_text())
        report = running.get(f"/runs/{run.digest}/export", format="kcidb", origin="our_lab")
        jsonschema.validate(report, schema)
        assert {each["git_repository_url"] for each in report["checkouts"]} == {
            "https://git.example.org/bpf-next.git"
        }
        assert {each["status"] for each in report["tests"]} == {"DONE"}
        assert [len(each["misc"]["metrics"][0]["boots"]) for each in report["tests"]] == [3] * 4
        assert "rome-1" not in json.dumps(report)
        head = running.get(f"/runs/{run.digest}/export", format="bmf")
        base = running.get(f"/runs/{run.digest}/export", format="bmf", arm="base")
        assert head.keys() == base.keys()
        assert head != base
        unknown = http.get(f"/api/v1/runs/{run.digest}/export", params={"format": "bmf", "arm": "haed"})
        assert (unknown.status_code, "base, head" in unknown.json()["detail"]) == (422, True)


def test_one_arm_as_csv_is_imported_as_a_run_of_its_own(running: Running, tmp_path: Path) -> None:
    run = run_of(boots=3, cases=4)
    with running.http("upload") as http:
        put_all(http, run)
        text = exported(running, run.digest, tmp_path / "head.csv", format="csv", arm="head").read_bytes()
        params = {"platform": "amd-rome", "mode": "walltime", "name": "head.csv"}
        kind = {"Content-Type": "text/plain"}
        made = (
            http.post("/api/v1/imports", params=params, content=text, headers=kind).raise_for_status().json()
        )
        both = exported(running, run.digest, tmp_path / "both.csv", format="csv").read_bytes()
        refused = http.post("/api/v1/imports", params=params, content=both, headers=kind)
        parquet = http.post("/api/v1/imports", params=params, content=b"PAR1\0\0", headers=kind)
    assert (made["boots"], made["samples"], made["problems"]) == (3, 12, [])
    mine = stored_arms(running, made["run"])["head"].boots
    theirs = stored_arms(running, run.digest)["head"].boots
    assert [boot.samples for boot in mine] == [boot.samples for boot in theirs]
    assert "2 arms: base, head" in refused.json()["detail"]
    assert "cliffwatch export FILE --format csv" in parquet.json()["detail"]
