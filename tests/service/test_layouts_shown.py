"""What a service says of layouts: the floor that base against itself shows, how many layouts the boots had, and
what one layout leaves open.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from service_running import Running
from service_runs import MadeRun, boots_of, commit_of, put_all, record_digest, run_of

from cliffwatch.samples import LUCK

ONE_LAYOUT = f"each kernel has one layout: {LUCK}"
WARNING = f"Each kernel has one layout: {LUCK}."
FLOOR = "0 of 2 false positives"
PAIR = f"{commit_of('base')}...{commit_of('head')}"
CASE = "local-storage/local-storage-cache-seq-get/nr_maps=0"


def measured(*arms: str, notes: tuple[str, ...] = ()) -> MadeRun:
    """A run of base, head and these arms, whose kernels are base's, in twelve boots each."""
    run = run_of(boots=12, cases=2, shift=0.05, spread=0.002)
    plan, first = run.record["plan"], run.record["arms"][0]
    planned = [boot for boot in plan["boots"] if boot["arm"] == "base"]
    more = [
        {**boot, "arm": arm, "index": len(plan["boots"]) + number * len(planned) + boot["block"] + 1}
        for number, arm in enumerate(arms)
        for boot in planned
    ]
    record = {
        **run.record,
        "arms": [*run.record["arms"], *({**first, "name": arm} for arm in arms)],
        "plan": {**plan, "layouts": 1 if notes else 12, "boots": [*plan["boots"], *more]},
        "notes": list(notes),
    }
    drawn = [
        run.logs[:1] + np.random.default_rng(number).normal(0, 0.001, run.logs[:1].shape)
        for number in range(len(arms))
    ]
    logs = np.concatenate([run.logs, *drawn])
    return replace(run, record=record, logs=logs, digest=record_digest(record, run.host))


def bodies(run: MadeRun) -> list[tuple[int, dict[str, Any]]]:
    made = list(boots_of(run))
    for _, body in made:
        if run.record["plan"]["layouts"] > 1:
            body["boot"]["layout"] = f"{body['boot']['arm']}-{body['boot']['block']}"
    return made


def upload(running: Running, run: MadeRun) -> None:
    with running.http("upload") as http:
        put_all(http, run, bodies(run))
    running.do_tasks()


def shown(running: Running, path: str) -> str:
    with running.http(None) as http:
        return " ".join(http.get(path, follow_redirects=True).raise_for_status().text.split())


@pytest.mark.parametrize("arms", [("control",), ("control", "v2")], ids=["two arms", "three arms"])
def test_pages_and_texts_have_the_layouts_and_the_floor(running: Running, arms: tuple[str, ...]) -> None:
    run = measured(*arms)
    upload(running, run)

    for form in ("", ".txt", ".md", ".commit"):
        text = shown(running, f"/compare/{run.digest}{form}")
        assert "12 boots per kernel, in 12 layouts" in text, form
        assert FLOOR in text, form
        assert "in other layouts" in text, form


def test_the_page_of_a_run_has_the_layouts_and_that_of_a_case_the_floor(running: Running) -> None:
    run = measured("control")
    upload(running, run)

    assert "36 of 36, each kernel in 12 layouts<" in shown(running, f"/runs/{run.digest}")
    assert f"{FLOOR}, largest difference" in shown(running, f"/compare/{PAIR}/cases/{CASE}")


def test_what_one_layout_leaves_open_stands_wherever_the_verdict_does(running: Running) -> None:
    run = measured("control", notes=("booted at noon", ONE_LAYOUT))
    upload(running, run)

    texts = [f"/compare/{run.digest}{form}" for form in ("", ".txt", ".md", ".commit")]
    for path in (*texts, f"/compare/{PAIR}", f"/compare/{PAIR}/cases/{CASE}"):
        assert shown(running, path).count(WARNING) == 1, path
    document = running.get(f"/runs/{run.digest}/comparison")
    assert [each["text"] for each in document["warnings"]] == [WARNING]
    assert document["notes"] == ["booted at noon"]
    answer = running.get("/answer", commit=commit_of("head"), base=commit_of("base"))
    assert answer["warnings"] == [f"amd-rome: {WARNING}"]
    assert answer["targets"][0]["check"].startswith(FLOOR)
    assert ONE_LAYOUT in shown(running, f"/runs/{run.digest}")
