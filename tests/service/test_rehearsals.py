"""Rehearsals on a service: their jobs are measured and compared like any other, every page says what they
are, and nothing of them becomes history.
"""

from pathlib import Path
from typing import Any

import pytest
from following_a_branch import walltime
from service_running import Running
from service_runs import MadeRun, commit_of, run_of

TREE = "https://git.example.org/bpf-next.git"
MARK = "This is a rehearsal: QEMU emulated the processor"


@pytest.fixture
def rehearsed(running: Running) -> MadeRun:
    """A job between two commits of a followed branch, on an enrolled host, whose head is ten per cent slower:
    all that makes points and a report of a run on hardware.
    """
    running.follow(TREE, "master", [commit_of("base"), commit_of("head")])
    run = run_of(boots=12, cases=3, shift=0.1, host="laptop", platform="rehearsal-x86-64")
    run.record["guest"]["accelerator"] = "tcg"
    running.measure(run)
    running.do_tasks()
    return run


def test_a_job_is_compared_and_its_change_makes_no_history(running: Running, rehearsed: MadeRun) -> None:
    compared = running.get(f"/runs/{rehearsed.digest}/comparison")

    assert [row["verdict"] for row in compared["comparisons"]].count("regression") == 1
    assert running.rows("SELECT of_history FROM run") == [{"of_history": False}]
    assert running.get("/reports")["items"] == []
    assert running.get("/changes")["items"] == []


def test_the_same_run_on_hardware_makes_a_report(running: Running) -> None:
    running.follow(TREE, "master", [commit_of("base"), commit_of("head")])
    running.measure(run_of(boots=12, cases=3, shift=0.1))
    running.do_tasks()

    assert len(running.get("/reports")["items"]) == 1


def test_its_pages_and_its_documents_say_what_it_is(running: Running, rehearsed: MadeRun) -> None:
    (warning,) = running.get(f"/runs/{rehearsed.digest}/comparison")["warnings"]
    assert warning["text"].startswith(MARK)
    pair = f"{commit_of('base')}...{commit_of('head')}"
    case = f"/compare/{pair}/cases/local-storage/local-storage-cache-seq-get"
    texts = [f"/compare/{rehearsed.digest}{form}" for form in ("", ".txt", ".md", ".commit")]
    with running.http(None) as http:
        for path in (f"/compare/{pair}", f"{case}/nr_maps=0", f"/runs/{rehearsed.digest}", *texts):
            text = " ".join(http.get(path, follow_redirects=True).raise_for_status().text.split())
            assert text.count(MARK) == 1, path
            assert "what users feel;" not in text, path


def test_the_platforms_of_a_revision_say_which_of_them_was_rehearsed(
    running: Running, rehearsed: MadeRun
) -> None:
    with running.http(None) as http:
        page = http.get(f"/platforms?revision={commit_of('head')}").raise_for_status().text
    assert " ".join(page.split()).count(f"rehearsal-x86-64: {MARK}") == 1


def test_the_page_of_a_series_says_that_a_rehearsal_makes_no_history(
    running: Running, rehearsed: MadeRun
) -> None:
    digest = running.get("/series")["items"][0]["series"]
    with running.http(None) as http:
        page = http.get(f"/series/{digest}").raise_for_status().text
    assert "a rehearsal measures an emulator" in " ".join(page.split())


def test_no_branch_is_followed_by_rehearsals(running: Running, tmp_path: Path) -> None:
    body: dict[str, Any] = {
        "tree": TREE,
        "branch": "master",
        "policy": "push",
        "targets": walltime("amd-rome", "rehearsal-x86-64"),
        "suites": ["local-storage"],
    }
    with running.http("admin") as http:
        answer = http.post("/api/v1/follows", json=body)

    assert answer.status_code == 422
    assert "rehearsal-x86-64 is for rehearsals, which make no history" in answer.json()["detail"]
    assert running.rows("SELECT id FROM follow") == []


def test_a_run_that_hides_that_it_is_a_rehearsal_is_refused(running: Running) -> None:
    run = run_of(boots=2, cases=1)
    run.record["guest"]["accelerator"] = "tcg"
    with running.http("work") as http:
        answer = http.put(f"/api/v1/runs/{run.digest}", json={"host": run.host, "record": run.record})

    assert answer.status_code == 422
    assert "cannot be the platform of a guest with accelerator tcg" in answer.text
