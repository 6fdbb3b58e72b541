"""Runs with matched layouts on a service: the matched arm is compared with nobody and makes no history, and
the answers say whether a change is only placement.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from service_running import Running
from service_runs import MadeRun, boots_of, commit_of, put_all, record_digest, record_of, run_of

from cliffwatch.formats.reading import as_json
from cliffwatch.formats.run_record import stages_record
from cliffwatch.stats.stages import ADAPTIVE

SCREEN = ADAPTIVE.screen
TOLD = "may be due to placement alone"


def with_matched(run: MadeRun) -> MadeRun:
    """The run in stages, with an arm that boots head where it is as fast as base."""
    plan, arms = run.record["plan"], run.record["arms"]
    staged = [{**boot, "stage": "screen" if boot["block"] < SCREEN else "confirm"} for boot in plan["boots"]]
    confirming = [boot for boot in staged if boot["arm"] == "head" and boot["stage"] == "confirm"]
    more = [
        {**boot, "arm": "matched", "index": len(staged) + number}
        for number, boot in enumerate(confirming, start=1)
    ]
    plan = {**plan, "boots": [*staged, *more], "stages": as_json(stages_record(ADAPTIVE))}
    record = {**run.record, "arms": [*arms, {**arms[1], "name": "matched"}], "plan": plan}
    matched = run.logs[:1] + np.random.default_rng(7).normal(0, 0.001, run.logs[:1].shape)
    logs = np.concatenate([run.logs, matched])
    return replace(run, record=record, logs=logs, digest=record_digest(record, run.host))


def bodies(run: MadeRun) -> list[tuple[int, dict[str, Any]]]:
    made = list(boots_of(run))
    for _, body in made:
        boot = body["boot"]
        of = "base" if boot["arm"] == "matched" else boot["arm"]
        boot["layout"] = f"layout-{of}-{boot['block']}"
    return made


def first_state(run: MadeRun) -> MadeRun:
    """The run as a worker uploads it in its first stage, without the arm of the second."""
    plan = run.record["plan"]
    screen = [boot for boot in plan["boots"] if boot["stage"] == "screen"]
    arms = [arm for arm in run.record["arms"] if arm["name"] != "matched"]
    return replace(run, record={**run.record, "arms": arms, "plan": {**plan, "boots": screen}})


@pytest.fixture
def uploaded(running: Running) -> MadeRun:
    running.follow("https://git.example.org/bpf-next.git", "master", [commit_of("base"), commit_of("head")])
    run = with_matched(run_of(boots=SCREEN + ADAPTIVE.looks[0].boots, cases=2, shift=0.05, spread=0.002))
    work = running.lease(replace(run, record={**run.record, "arms": run.record["arms"][:2]}))
    with running.http("of rome-1") as http:
        first = record_of(first_state(run), "running", work["job"])
        http.put(f"/api/v1/runs/{run.digest}", json=first).raise_for_status()
        put_all(http, run, bodies(run), job=work["job"])
        end = {"outcome": "done", "run": run.digest}
        http.post(f"/api/v1/leases/{work['lease']}/complete", json=end).raise_for_status()
    running.do_tasks()
    return run


def test_the_answer_has_the_change_in_matched_layouts(running: Running, uploaded: MadeRun) -> None:
    rows = running.get(f"/runs/{uploaded.digest}/comparison")["comparisons"]
    (changed,) = [row for row in rows if row["verdict"] == "regression"]
    assert changed["matched"]["pairs"] == ADAPTIVE.looks[0].boots
    assert changed["matched"]["only_placement"] is True
    assert [row["matched"] for row in rows if row is not changed] == [None]


def test_the_arm_makes_no_points(running: Running, uploaded: MadeRun) -> None:
    arms = running.rows("SELECT DISTINCT arm.name FROM point JOIN arm ON arm.id = arm_id ORDER BY name")
    assert [row["name"] for row in arms] == ["base", "head"]


def test_every_text_and_the_page_of_the_case_say_it(running: Running, uploaded: MadeRun) -> None:
    pair = f"{commit_of('base')}...{commit_of('head')}"
    case = "local-storage/local-storage-cache-seq-get/nr_maps=0"
    texts = [f"/compare/{uploaded.digest}{form}" for form in (".txt", ".md", ".commit")]
    with running.http(None) as http:
        for path in (*texts, f"/compare/{pair}/cases/{case}"):
            text = " ".join(http.get(path, follow_redirects=True).raise_for_status().text.split())
            assert TOLD in text, path
