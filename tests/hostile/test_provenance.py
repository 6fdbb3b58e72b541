"""Points of history and public reports come from runs of a lease alone, by an enrolled host, of a followed
branch.
"""

from typing import Any

import pytest
from service_running import Running
from service_runs import commit_of, put_all, run_of

TREE = "https://git.example.org/bpf-next.git"
PAIR = f"{commit_of('r0')}...{commit_of('r1')}"


@pytest.fixture
def followed(running: Running) -> Any:
    """A service that follows a branch of two revisions."""
    running.follow(TREE, "master", [commit_of("r0"), commit_of("r1")])
    return running


def slower(seed: int = 1, **other: Any) -> Any:
    """A run that says the branch's newest revision is ten percent slower: right commits, right hashes."""
    return run_of(**{"boots": 8, "cases": 3, "base": "r0", "head": "r1", "shift": 0.1, "seed": seed, **other})


def published(running: Running) -> dict[str, Any]:
    """How much the service tells in public of the branch."""
    running.do_tasks()
    series = running.get("/series", benchmark="local-storage-cache-seq-get")["items"]
    points = [
        point
        for each in series
        for more in ({}, {"tree": TREE, "branch": "master"})
        for point in running.get(f"/series/{each['series']}/history", **more)["points"]
    ]
    with running.http(None) as http:
        strip = "1 worse" in http.get("/").text
    return {
        "points": len(points),
        "changes": len(running.get("/changes")["items"]),
        "reports": len(running.get("/reports")["items"]),
        "strip": strip,
    }


NOTHING = {"points": 0, "changes": 0, "reports": 0, "strip": False}


def test_a_lease_of_an_enrolled_host_for_the_branch_makes_history_and_a_report(followed: Any) -> None:
    followed.measure(slower())
    assert published(followed) == {"points": 4, "changes": 1, "reports": 1, "strip": True}


@pytest.mark.parametrize("who", ["upload", "work", "admin", "of rome-1"])
def test_right_commit_right_hash_no_lease_is_no_point_and_no_report(followed: Any, who: str) -> None:
    followed.token("of rome-1", "work", host="rome-1")
    run = slower(host="rome-1" if who == "of rome-1" else "desk-1")
    with followed.http(who) as http:
        put_all(http, run)
    assert published(followed) == NOTHING
    compared = followed.get(f"/runs/{run.digest}/comparison")
    assert [row["verdict"] for row in compared["comparisons"]].count("regression") == 1
    assert followed.get(f"/comparisons/{PAIR}")["targets"][0]["runs"] == [run.digest]
    with followed.http(None) as http:
        assert http.get(f"/compare/{run.digest}").status_code == 200


def test_a_lease_of_a_host_that_nobody_enrolled_is_none_either(followed: Any) -> None:
    run = slower()
    work = followed.lease(run, token="work")
    assert work["trust"] == "followed"
    with followed.http("work") as http:
        put_all(http, run, job=work["job"])
    assert published(followed) == NOTHING


@pytest.mark.parametrize(
    ("where", "trust"),
    [
        ({}, "followed"),
        ({"base": "r1", "head": "pull"}, "outside"),
        ({"base": "old", "head": "r1"}, "outside"),
        ({"tree": "https://git.example.org/fork.git"}, "outside"),
    ],
)
def test_a_job_is_trusted_where_its_tree_and_both_revisions_are_a_followed_branchs(
    followed: Any, where: dict[str, str], trust: str
) -> None:
    run = slower(**{name: value for name, value in where.items() if name != "tree"})
    run.record["tree"] = where.get("tree", TREE)
    work = followed.lease(run)
    assert work["trust"] == trust
    with followed.http("of rome-1") as http:
        put_all(http, run, job=work["job"])
    assert (published(followed) == NOTHING) is (trust == "outside")


def test_a_branch_that_is_followed_no_longer_trusts_nothing_new(followed: Any) -> None:
    (entry,) = followed.get("/follows")["items"]
    with followed.http("admin") as http:
        http.delete(f"/api/v1/follows/{entry['follow']}").raise_for_status()
    assert followed.lease(slower())["trust"] == "outside"


def test_a_pull_requests_run_answers_who_asked_and_says_nothing_in_public(followed: Any) -> None:
    followed.measure(slower())
    before = published(followed)
    pull = run_of(boots=8, cases=3, base="r1", head="pull", parents={"pull": ["r1"]}, shift=0.2, seed=2)
    followed.measure(pull)
    assert published(followed) == before
    (target,) = followed.get(f"/comparisons/{commit_of('r1')}...{commit_of('pull')}")["targets"]
    assert (target["runs"], target["counts"]["regression"]) == ([pull.digest], 1)


def test_what_somebody_uploads_does_not_answer_for_what_an_enrolled_host_measured(followed: Any) -> None:
    """Newer by its own word, the same commits: the branch's own measurement answers all the same, and is the
    nearest base.
    """
    own = slower()
    followed.measure(own)
    claimed = slower(seed=2, host="desk-1", shift=-0.3, created="2026-11-21T11:59:00+00:00")
    with followed.http("upload") as http:
        put_all(http, claimed)
    pull = run_of(boots=8, cases=3, base="elsewhere", head="pull", parents={"pull": ["r1"]}, seed=3)
    followed.measure(pull)
    followed.do_tasks()
    assert followed.get(f"/comparisons/{PAIR}")["targets"][0]["runs"] == [own.digest]
    (nearest,) = followed.get(f"/comparisons/nearest...{commit_of('pull')}")["targets"]
    assert nearest["runs"] == [own.digest, pull.digest]


def test_a_claimed_measurement_of_the_branch_is_nobodys_nearest_base(followed: Any) -> None:
    with followed.http("upload") as http:
        put_all(http, slower(host="desk-1"))
        pull = run_of(
            boots=2, cases=1, base="pull", head="pull", parents={"pull": ["r1"]}, host="desk-2", seed=3
        )
        put_all(http, pull)
        answer = http.get(f"/api/v1/comparisons/nearest...{commit_of('pull')}")
    assert answer.status_code == 404


def test_news_on_the_home_page_is_of_followed_branches(followed: Any) -> None:
    followed.measure(slower())
    with followed.http("upload") as http:
        put_all(http, slower(seed=2, host="desk-1", platform="made-up"))
    followed.do_tasks()
    with followed.http(None) as http:
        home = http.get("/").text
        assert ("made-up" in home, "rome-1" in home or "amd-rome" in home) == (False, True)
        assert "made-up" in http.get("/runs").text


def alarmed(running: Running) -> bool:
    with running.http(None) as http:
        return "nothing was measured for" in http.get("/").text


def test_an_upload_does_not_hide_that_a_followed_platform_measures_nothing(followed: Any) -> None:
    followed.measure(slower())
    followed.clock.pass_(days=5)
    assert alarmed(followed)
    with followed.http("upload") as http:
        put_all(http, slower(seed=2, host="desk-1"))
    assert alarmed(followed)


def test_the_answer_to_an_offer_is_described_with_its_trust(followed: Any) -> None:
    work = followed.get("/openapi.json")["components"]["schemas"]["Work"]
    assert work["properties"]["trust"]["enum"] == ["followed", "outside"]
    assert "trust" in work["required"]
