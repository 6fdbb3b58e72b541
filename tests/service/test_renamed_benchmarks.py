"""A benchmark that was renamed: runs of either name are compared, and the pages of both series lead to each
other.
"""

from typing import Any

import pytest
from service_running import Running
from service_runs import MadeRun, commit_of, put_all, run_of

FORMER, PRESENT = "trig-uprobe-nop5", "trig-uprobe-nop10"
OTHER_NAME = "The same benchmark under another name"


def run_named(benchmark: str, base: str, head: str, seed: int) -> MadeRun:
    run = run_of(boots=6, cases=1, base=base, head=head, seed=seed)
    run.record["plan"]["cases"][0] |= {"suite": "uprobes", "benchmark": benchmark, "params": {}}
    run.record["suites"] = ["uprobes"]
    return MadeRun(run.record, run.host, run.logs, run.digest, ("hits", "M ops/s"))


@pytest.fixture
def uploaded(running: Running) -> Any:
    with running.http("upload") as http:
        put_all(http, run_named(FORMER, "a", "b", 1))
        put_all(http, run_named(PRESENT, "c", "d", 2))
    running.do_tasks()
    return running


def test_revisions_of_either_name_are_compared(uploaded: Any) -> None:
    answer = uploaded.get(f"/comparisons/{commit_of('a')}...{commit_of('d')}")

    (row,) = answer["comparisons"]
    assert (row["benchmark"], row["base"] is None, row["head"] is None) == (PRESENT, False, False)
    assert f"{FORMER} as {PRESENT}" in str(answer["targets"][0]["warnings"])


def test_the_pages_of_both_series_lead_to_each_other(uploaded: Any) -> None:
    listed = {each["benchmark"]: each["series"] for each in uploaded.get("/series")["items"]}
    with uploaded.http(None) as http:
        for name, other in ((FORMER, PRESENT), (PRESENT, FORMER)):
            text = http.get(f"/series/{listed[name]}").raise_for_status().text
            assert f'{OTHER_NAME}: <a href="/series/{listed[other]}">{other}</a>' in text


def test_a_series_of_one_name_leads_nowhere(running: Running) -> None:
    with running.http("upload") as http:
        put_all(http, run_named(PRESENT, "a", "b", 1))
    running.do_tasks()
    (listed,) = running.get("/series")["items"]
    with running.http(None) as http:
        assert OTHER_NAME not in http.get(f"/series/{listed['series']}").raise_for_status().text
