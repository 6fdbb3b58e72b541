"""What programs ask: a brief answer for a commit, a comparison through the page's filters, and no address that
ignores a parameter.
"""

from typing import Any

import pytest
from pages_named import COMPARISON
from service_running import Running
from service_runs import commit_of, put_all, run_of

CULPRIT = COMPARISON.partition("...")[2]
ANSWER = f"/api/v1/answer?commit={CULPRIT}"
PAIR = f"/comparisons/{COMPARISON}"


def document(running: Running, address: str) -> Any:
    with running.http(None) as http:
        return http.get(f"/api/v1{address}").raise_for_status().json()


def test_a_brief_answer_has_verdict_sizes_cause_and_links(demonstration: Running) -> None:
    answer = document(demonstration, f"/answer?commit={CULPRIT}")
    assert (answer["measured"], answer["verdict"]) == (True, "regression")
    assert answer["sentence"].startswith("15 slower (")
    first = answer["changes"][0]
    assert first["case"] == "local-storage/local-storage-cache-int-get nr_maps=1"
    assert (first["base"], first["head"], first["change"]) == (164.492, 173.517, 0.0548704)
    assert first["ci"] == [0.0543704, 0.0553704]
    assert "bpf_local_storage_lookup" in answer["causes"][0]
    assert len(answer["changes"]) + answer["more_changes"] == sum(
        target["counts"].get("regression", 0) for target in answer["targets"]
    )


def test_links_of_a_brief_answer_lead_to_pages(demonstration: Running) -> None:
    answer = document(demonstration, f"/answer?commit={CULPRIT}")
    with demonstration.http(None) as http:
        for url in (answer["url"], *(change["url"] for change in answer["changes"])):
            path = url.partition("//")[2].partition("/")[2]
            assert http.get(f"/{path}").status_code == 200, path


@pytest.mark.parametrize("more", ["", "&suite=local-storage", "&platform=amd-rome", "&base=f95f0ea68aba"])
def test_a_brief_answer_is_brief(demonstration: Running, more: str) -> None:
    with demonstration.http(None) as http:
        assert len(http.get(f"{ANSWER}{more}").content) <= 2048


def test_a_brief_answer_of_long_names_is_brief_too(running: Running) -> None:
    run = run_of(boots=8, cases=40, spread=0.001)
    run.logs[1] += 0.1
    for case in run.record["plan"]["cases"]:
        case["params"] = {f"parameter_{n}": "x" * 60 for n in range(5)} | case["params"]
    with running.http("upload") as http:
        put_all(http, run)
    running.do_tasks()
    with running.http(None) as http:
        answer = http.get(f"/api/v1/answer?commit={commit_of('head')}&base={commit_of('base')}")
    assert len(answer.content) <= 2048
    assert answer.json()["verdict"] == "regression"
    assert answer.json()["more_changes"] == 40 - len(answer.json()["changes"])


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("commit=0123456789ab", "no revision 0123456789ab was measured or followed here"),
        (f"commit={CULPRIT}&platform=arm-n1", "was not measured on arm-n1"),
        (f"commit={CULPRIT}&suite=nosuite", "suite nosuite was not compared for this commit, but bloom"),
    ],
)
def test_what_was_not_measured_is_said_with_the_reason(demonstration: Running, query: str, why: str) -> None:
    answer = document(demonstration, f"/answer?{query}")
    assert (answer["measured"], answer["verdict"], answer["changes"]) == (False, None, [])
    assert why in answer["sentence"]


def rows_named(compared: Any) -> list[tuple[str, str, str, str]]:
    return [
        (row["suite"], f"{row['benchmark']} {row['params']}", row["metric"], row["platform"])
        for row in compared["comparisons"]
    ]


def test_the_filters_of_the_page_filter_the_document(demonstration: Running) -> None:
    whole = document(demonstration, PAIR)
    changed = document(demonstration, f"{PAIR}?verdict=changed")
    assert {row["verdict"] for row in changed["comparisons"]} >= {"regression"}
    assert len(changed["comparisons"]) < len(whole["comparisons"])
    assert changed["targets"] == whole["targets"]
    one = document(demonstration, f"{PAIR}?suite=local-storage&text=seq-get nr_maps=16&platform=amd-rome")
    assert {(row["suite"], row["params"]["nr_maps"]) for row in one["comparisons"]} == {
        ("local-storage", "16")
    }
    assert {row["platform"] for row in one["comparisons"]} == {"amd-rome"}
    everywhere = document(demonstration, f"{PAIR}?verdict=regression&where=all 3")
    assert {row["verdict"] for row in everywhere["comparisons"]} == {"regression"}
    assert {row["primary"] for row in document(demonstration, f"{PAIR}?metrics=primary")["comparisons"]} == {
        True
    }
    assert sorted(rows_named(document(demonstration, f"{PAIR}?metrics=all"))) == sorted(rows_named(whole))


def test_each_choice_of_rows_has_its_own_etag(demonstration: Running) -> None:
    queries = ("", "?metrics=primary", "?metrics=all", "?verdict=changed", "?sort=size", "?sort=name")
    with demonstration.http(None) as http:
        tags = {http.get(f"/api/v1{PAIR}{query}").headers["etag"] for query in queries}
    assert len(tags) == len(queries)


def test_rows_are_sorted_as_asked(demonstration: Running) -> None:
    by_name = rows_named(document(demonstration, f"{PAIR}?sort=name&platform=amd-rome"))
    by_size = rows_named(document(demonstration, f"{PAIR}?sort=size&platform=amd-rome"))
    assert sorted(by_name) == sorted(by_size)
    assert by_name != by_size


@pytest.mark.parametrize(
    ("address", "why"),
    [
        (f"{PAIR}?verdict=slower", "it must be one of changed, disagree, regression"),
        (f"{PAIR}?sort=date", "it must be one of size, certainty, name"),
        (f"{PAIR}?suite=nosuite", "nosuite is not in this comparison: it has bloom, hashmap, local-storage"),
        (f"{PAIR}?verdcit=changed", "did you mean 'verdict'?"),
        (
            "/runs?platfrom=amd-rome",
            "it takes platform, mode, revision, limit, cursor; did you mean 'platform'?",
        ),
        ("/suites?x=1", "this address takes no parameters: leave out 'x'"),
    ],
)
def test_what_an_address_does_not_know_is_refused(demonstration: Running, address: str, why: str) -> None:
    with demonstration.http(None) as http:
        refused = http.get(f"/api/v1{address}")
    assert refused.status_code in (404, 422)
    assert why in refused.json()["detail"]


def test_a_search_finds_what_the_page_finds(demonstration: Running) -> None:
    found = document(demonstration, "/search?q=local storage lookup")
    assert "bpf: Take the local storage lookup out of line" in [
        each["subject"] for each in found["revisions"]
    ]
    assert document(demonstration, "/search?q=ringbuf")["suites"] == ["ringbufs"]
    assert document(demonstration, "/search?q=nr_maps=16 walltime")["series"]


def test_the_only_result_of_a_search_opens_at_once(demonstration: Running) -> None:
    with demonstration.http(None) as http:
        one = http.get("/search?q=ringbufs", follow_redirects=False)
        several = http.get("/search?q=local storage", follow_redirects=False)
    assert (one.status_code, one.headers["location"]) == (303, "/suites/ringbufs")
    assert several.status_code == 200


def test_operations_have_short_names(running: Running) -> None:
    operations = [
        operation["operationId"]
        for methods in running.get("/openapi.json")["paths"].values()
        for operation in methods.values()
    ]
    assert "compare_revisions" in operations
    assert len(set(operations)) == len(operations)
