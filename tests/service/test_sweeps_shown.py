"""Benchmarks over several parameters on the compare page: which curves are drawn, and what folds away."""

import re
from dataclasses import replace
from itertools import product

import numpy as np
from service_running import Running
from service_runs import MadeRun, commit_of, put_all, run_of

MAPS = (1, 2, 4, 8, 16, 32, 64, 128)
PRODUCERS = ("1", "2", "4", None)
PAGE = f"/compare/{commit_of('base')}...{commit_of('head')}"


def swept() -> MadeRun:
    """Flat over `nr_maps` with 1, 2, 4 producers and where they are not given; in head, 2 producers cost half
    as much again from 32 maps on.
    """
    plain = run_of(boots=12, cases=1, spread=0.0)
    cases = [
        {"nr_maps": str(maps)} | ({} if producers is None else {"producers": producers})
        for producers, maps in product(PRODUCERS, MAPS)
    ]
    first = plain.record["plan"]["cases"][0]
    plan = {
        **plain.record["plan"],
        "cases": [{**first, "params": params} for params in cases],
        "boots": [{**boot, "cases": list(range(len(cases)))} for boot in plain.record["plan"]["boots"]],
    }
    logs = np.log(100) + np.random.default_rng(1).normal(0, 0.002, (2, 12, len(cases)))
    slow = [params.get("producers") == "2" and int(params["nr_maps"]) >= 32 for params in cases]
    logs[1] += np.where(slow, np.log(1.5), 0.0)
    return replace(plain, record={**plain.record, "plan": plan}, logs=logs)


def test_the_curve_that_head_changes_is_drawn_and_the_others_are_counted(running: Running) -> None:
    with running.http("upload") as http:
        put_all(http, swept())
    running.do_tasks()
    with running.http(None) as http:
        page = http.get(PAGE).text
        document = http.get(f"{PAGE}.json").json()
        text = http.get(f"{PAGE}.txt").text

    (article,) = re.findall(r'<article class="sweep">.*?</article>', page, re.DOTALL)
    assert "seq-get over nr_maps" in article
    assert "3 of 32 changed" in article
    assert re.findall("<figcaption><b>(.*?)</b>: (.*?)</figcaption>", article) == [
        (
            "amd-rome, producers=2",
            "base: flat from nr_maps 1 to 128, no breakpoint; head: jumps between nr_maps 16 and 32 (+50 %)",
        )
    ]
    assert article.count("<circle") == 2 * len(MAPS)
    assert "amd-rome: 3 more curves over nr_maps without a breakpoint or a sure change of course" in article
    assert "<li>default producers: flat from nr_maps 1 to 128, no breakpoint</li>" in article
    assert "29 unchanged or inconclusive cases" in article
    (target,) = document["targets"]
    assert [(each["fixed"], each["differs"]) for each in target["sweeps"]] == [
        ({"producers": producers}, producers == "2") for producers in PRODUCERS
    ]
    assert "seq-get at producers=2: base: flat" in text
