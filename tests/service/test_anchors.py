"""The anchor of a followed branch: which revision it is, which runs have it, and that their base and head are
compared as ever.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import toy
from service_running import Running
from service_runs import arm_of, boots_of, commit_of, record_digest, record_of, run_of, with_anchor

from cliffwatch_service.history.follow import poll
from cliffwatch_service.ingest.provenance import trust_of
from cliffwatch_service.store.work import queue

ROME, EMULATED = (
    {"platform": "amd-rome", "mode": "walltime"},
    {"platform": "emulated-x86-64", "mode": "icount"},
)
TREE = "https://git.example.org/bpf-next.git"


def body_of(url: str, **named: Any) -> dict[str, Any]:
    plain = {
        "tree": url,
        "branch": "master",
        "policy": "push",
        "targets": [ROME],
        "suites": ["local-storage"],
    }
    return {**plain, **named}


def follow(running: Running, url: str, **named: Any) -> int:
    with running.http("admin") as http:
        return int(
            http.post("/api/v1/follows", json=body_of(url, **named)).raise_for_status().json()["follow"]
        )


def look(running: Running, number: int, tmp_path: Path) -> int:
    with running.service.transaction() as connection:
        return poll(connection, number, tmp_path / "git", running.clock.now())


def push(repository: Path, number: int) -> str:
    return toy.change(repository, "kernel/bpf/core.c", f"int core = {number};\n", f"bpf: Change {number}")


def asked(running: Running) -> list[tuple[str, str, list[tuple[str, str]], list[str]]]:
    """Base, head, arms and targets of every request, the oldest first."""
    rows = running.rows(
        "SELECT base_commit, head_commit, setup, (SELECT array_agg(platform ORDER BY platform) FROM job WHERE"
        " request_id = request.id) AS on FROM request ORDER BY created, setup IS NOT NULL, idempotency_key"
    )
    return [
        (
            row["base_commit"],
            row["head_commit"],
            [(arm["name"], arm["rev"]) for arm in (row["setup"] or {}).get("arms", [])],
            row["on"],
        )
        for row in rows
    ]


def entry(running: Running) -> dict[str, Any]:
    (only,) = running.get("/follows")["items"]
    return dict(only)


@pytest.mark.parametrize("policy", ["push", "nightly"])
def test_walltime_runs_have_the_commit_at_which_following_began(
    running: Running, served: Any, tmp_path: Path, policy: str
) -> None:
    url, repository = served
    number = follow(running, url, policy=policy)
    start = toy.git(repository, "rev-parse", "HEAD")
    look(running, number, tmp_path)
    made = [push(repository, each) for each in range(2)]
    assert look(running, number, tmp_path) == 1
    running.clock.pass_(hours=24)
    made.append(push(repository, 5))
    assert look(running, number, tmp_path) == 1

    assert [each[:3] for each in asked(running)] == [
        (start, made[1], [("base", start), ("head", made[1]), ("anchor", start)]),
        (made[1], made[2], [("base", made[1]), ("head", made[2]), ("anchor", start)]),
    ]
    assert (entry(running)["anchor"], entry(running)["anchor_problem"]) == (start, None)


def test_counted_targets_have_none(running: Running, served: Any, tmp_path: Path) -> None:
    url, repository = served
    both = follow(running, url, targets=[ROME, EMULATED])
    look(running, both, tmp_path)
    push(repository, 1)
    assert look(running, both, tmp_path) == 2

    assert [(len(arms), on) for _, _, arms, on in asked(running)] == [
        (0, ["emulated-x86-64"]),
        (3, ["amd-rome"]),
    ]


@pytest.mark.parametrize("named", [{"policy": "commit"}, {"anchor": "none"}, {"targets": [EMULATED]}])
def test_where_nobody_wants_one_there_is_none(
    running: Running, served: Any, tmp_path: Path, named: dict[str, Any]
) -> None:
    url, repository = served
    number = follow(running, url, **named)
    look(running, number, tmp_path)
    push(repository, 1)
    assert look(running, number, tmp_path) == 1

    assert [arms for _, _, arms, _ in asked(running)] == [[]]
    assert entry(running)["anchor"] is None


def test_a_tag_is_an_anchor_and_another_one_may_follow_it(
    running: Running, served: Any, tmp_path: Path
) -> None:
    url, repository = served
    tagged = toy.git(repository, "rev-parse", "v6.12")
    push(repository, 1)
    number = follow(running, url, anchor="v6.12")
    look(running, number, tmp_path)
    assert entry(running)["anchor"] == tagged
    other = push(repository, 2)
    look(running, number, tmp_path)

    assert follow(running, url, anchor=other) == number
    look(running, number, tmp_path)
    assert entry(running)["anchor"] == other
    assert follow(running, url, suites=["htab-mem"]) == number
    running.clock.pass_(minutes=5)
    push(repository, 3)
    look(running, number, tmp_path)
    assert [arms[2] for _, _, arms, _ in asked(running)] == [("anchor", tagged), ("anchor", other)]
    audited = running.rows("SELECT detail FROM audit WHERE action = 'anchor' ORDER BY id")
    assert [row["detail"] for row in audited] == [
        {"before": "none", "now": tagged},
        {"before": "none", "now": other},
    ]


def test_what_is_no_revision_of_the_tree_is_said_and_the_rest_is_measured(
    running: Running, served: Any, tmp_path: Path
) -> None:
    url, repository = served
    number = follow(running, url, anchor="v9.9")
    look(running, number, tmp_path)
    assert (
        entry(running)["anchor_problem"]
        == "the tree has no tag v9.9: name another anchor, by a tag or a whole commit"
    )
    push(repository, 1)
    assert look(running, number, tmp_path) == 1
    assert [arms for _, _, arms, _ in asked(running)] == [[]]
    follow(running, url, anchor="f" * 40)
    push(repository, 2)
    assert look(running, number, tmp_path) == 1
    assert "does not give the anchor ffffffffffff" in entry(running)["anchor_problem"]
    assert [arms for _, _, arms, _ in asked(running)] == [[], []]
    with running.http(None) as http:
        assert "does not give the anchor ffffffffffff" in http.get("/branches").text


def forget(repository: Path) -> None:
    """What no ref names is gone from the tree, as after a server's cleaning."""
    toy.git(repository, "reflog", "expire", "--expire=now", "--all")
    toy.git(repository, "gc", "--quiet", "--prune=now")


def test_an_anchor_that_was_pushed_away_is_replaced_where_nobody_named_it(
    running: Running, served: Any, tmp_path: Path
) -> None:
    url, repository = served
    kept = toy.git(repository, "rev-parse", "HEAD")
    old = push(repository, 1)
    number = follow(running, url)
    look(running, number, tmp_path)
    assert entry(running)["anchor"] == old
    toy.git(repository, "reset", "--quiet", "--hard", kept)
    new = push(repository, 2)
    assert look(running, number, tmp_path) == 1
    assert entry(running)["anchor"] == old, "the server still gives it"

    running.clock.pass_(minutes=5)
    forget(repository)
    newer = push(repository, 3)
    assert look(running, number, tmp_path) == 1
    assert (entry(running)["anchor"], entry(running)["anchor_problem"]) == (newer, None)
    assert [(base, head, arms[2][1]) for base, head, arms, _ in asked(running)] == [
        (kept, new, old),
        (new, newer, newer),
    ]


def test_an_anchor_that_was_pushed_away_is_said_where_somebody_named_it(
    running: Running, served: Any, tmp_path: Path
) -> None:
    url, repository = served
    kept = toy.git(repository, "rev-parse", "HEAD")
    old = push(repository, 1)
    number = follow(running, url, anchor=old)
    look(running, number, tmp_path)
    toy.git(repository, "reset", "--quiet", "--hard", kept)
    push(repository, 2)
    forget(repository)
    assert look(running, number, tmp_path) == 1
    assert f"does not give the anchor {old[:12]}" in entry(running)["anchor_problem"]
    assert [arms for _, _, arms, _ in asked(running)] == [[]]


@pytest.mark.parametrize(
    ("named", "reason"),
    [
        ({"anchor": "--upload-pack=x"}, "is no anchor"),
        ({"anchor": "v6.12", "policy": "commit"}, "an anchor is measured in walltime"),
        ({"anchor": "v6.12", "targets": [EMULATED]}, "an anchor is measured in walltime"),
    ],
)
def test_an_anchor_that_nothing_would_measure_is_refused(
    running: Running, named: dict[str, Any], reason: str
) -> None:
    with running.http("admin") as http:
        answer = http.post("/api/v1/follows", json=body_of(TREE, **named))
    assert answer.status_code == 422
    assert reason in answer.json()["detail"]
    assert running.rows("SELECT id FROM follow") == []


def measured(running: Running, *, anchor: bool, host: str = "rome-1") -> Any:
    """A run of a job that a followed branch asked for, from its lease to its analysis."""
    running.follow(TREE, "master", [commit_of("base"), commit_of("head")])
    run = run_of(boots=12, cases=3, shift=0.1, host=host)
    record = {**run.record, "identity": f"{len(host):016x}{anchor:016x}"}
    run = replace(run, record=record, digest=record_digest(record, host))
    run = with_anchor(run, "old") if anchor else run
    work = running.lease(run)
    assert work["trust"] == "followed"
    with running.http(f"of {run.host}") as http:
        http.put(f"/api/v1/runs/{run.digest}", json=record_of(run, job=work["job"])).raise_for_status()
        for number, body in boots_of(run):
            http.put(f"/api/v1/runs/{run.digest}/boots/{number}", json=body).raise_for_status()
        http.post(
            f"/api/v1/leases/{work['lease']}/complete", json={"outcome": "done", "run": run.digest}
        ).raise_for_status()
    running.do_tasks()
    return run


def test_base_and_head_beside_an_anchor_are_compared_as_without(running: Running) -> None:
    with_one = measured(running, anchor=True)
    assert len(running.get("/reports")["items"]) == 1
    without = measured(running, anchor=False, host="rome-2")
    compared, plain = (running.get(f"/runs/{run.digest}/comparison") for run in (with_one, without))

    assert compared["comparisons"] == plain["comparisons"]
    assert [row["verdict"] for row in compared["comparisons"]].count("regression") == 1
    assert [arm["name"] for arm in compared["arms"]] == ["base", "head"]
    with running.http(None) as http:
        page = http.get(f"/compare/{with_one.digest}").raise_for_status().text
        shown = http.get(f"/runs/{with_one.digest}").raise_for_status().text
    assert "arms, each against" not in page
    assert commit_of("old")[:12] in shown


def test_what_an_anchor_read_is_no_point_of_its_revision(running: Running) -> None:
    run = measured(running, anchor=True)

    assert running.rows("SELECT of_history FROM run") == [{"of_history": True}]
    points = running.rows("SELECT DISTINCT commit FROM point JOIN revision ON revision.id = revision_id")
    assert {row["commit"] for row in points} == {commit_of("base"), commit_of("head")}
    (anchor,) = running.rows(
        "SELECT DISTINCT commit FROM anchor_point JOIN revision ON revision.id = revision_id"
    )
    assert anchor["commit"] == commit_of("old")
    digest = running.rows("SELECT digest FROM series ORDER BY id LIMIT 1")[0]["digest"]
    history = {point["commit"]: point for point in running.get(f"/series/{digest}/history")["points"]}
    for point in history.values():
        assert point["anchor"] == pytest.approx(1.5 * history[commit_of("base")]["centre"], rel=1e-3)
    samples = running.get(f"/series/{digest}/samples", revision=commit_of("old"))["samples"]
    assert len(samples) == len([boot for boot in run.record["plan"]["boots"] if boot["arm"] == "anchor"])


def test_a_run_without_the_anchor_that_was_asked_for_is_taken(running: Running) -> None:
    """The tree did not have it any more: its host measured the others."""
    running.follow(TREE, "master", [commit_of("base"), commit_of("head")])
    work = running.lease(with_anchor(run_of(boots=3, cases=2), "old"))
    run = run_of(boots=3, cases=2)
    run.record["plan"]["seed"] = work["seed"]
    with running.http(f"of {run.host}") as http:
        http.put(f"/api/v1/runs/{run.digest}", json=record_of(run, job=work["job"])).raise_for_status()
        other = with_anchor(run_of(boots=3, cases=2, seed=4), "another")
        other.record["plan"]["seed"] = work["seed"]
        refused = http.put(f"/api/v1/runs/{other.digest}", json=record_of(other, job=work["job"]))
    assert refused.status_code == 409
    assert "arm anchor" in refused.json()["detail"]


def test_what_anybody_asks_with_an_anchor_is_anybodys_code(running: Running) -> None:
    running.follow(TREE, "master", [commit_of("base"), commit_of("head")])
    run = with_anchor(run_of(boots=3, cases=2), "old")
    work = running.lease(run)
    with running.service.transaction() as connection:
        connection.execute("UPDATE request SET asked_by = (SELECT min(id) FROM token WHERE name <> 'follow')")
        job = queue.job_row(connection, UUID(work["job"]))
        assert job is not None
        assert trust_of(connection, job) == "outside"


def test_an_anchor_that_does_not_build_is_said_and_the_others_are_compared(running: Running) -> None:
    running.follow(TREE, "master", [commit_of("base"), commit_of("head")])
    run = with_anchor(run_of(boots=12, cases=3, shift=0.1), "old")
    plan = run.record["plan"]
    failure = {
        "whose": "kernel",
        "message": "the kernel does not build",
        "next_step": "see the log",
        "evidence": "",
    }
    arm_of(run.record, "anchor")["failure"] = failure
    plan["boots"] = [boot for boot in plan["boots"] if boot["arm"] != "anchor"]
    work = running.lease(run)
    with running.http(f"of {run.host}") as http:
        http.put(f"/api/v1/runs/{run.digest}", json=record_of(run, job=work["job"])).raise_for_status()
        for number, body in boots_of(run):
            http.put(f"/api/v1/runs/{run.digest}/boots/{number}", json=body).raise_for_status()
    with running.service.transaction() as connection:
        connection.execute("UPDATE follow SET anchor_commit = %s", [commit_of("old")])
    running.do_tasks()

    verdicts = [row["verdict"] for row in running.get(f"/runs/{run.digest}/comparison")["comparisons"]]
    assert verdicts.count("regression") == 1
    assert entry(running)["anchor_problem"] == "the kernel does not build"
    with running.http(None) as http:
        assert "it gave nothing in the newest run" in http.get("/branches").text


def test_a_form_names_the_anchor_and_the_page_shows_it(running: Running, served: Any, tmp_path: Path) -> None:
    url, repository = served
    tagged = toy.git(repository, "rev-parse", "v6.12")
    running.enrol("amd-rome")
    form = {
        "tree": url,
        "branch": "master",
        "target": "amd-rome:walltime",
        "suite": "all",
        "profile": "smoke",
    }
    with running.http(None) as http:
        http.post("/sign-in", data={"token": running.tokens["admin"], "next": "/"})
        secret = http.get("/branches").text.split('name="form_token" value="')[1].split('"')[0]
        form |= {"form_token": secret, "policy": "by target"}
        assert http.post("/branches", data={**form, "anchor": "a b"}).status_code == 422
        assert http.post("/branches", data={**form, "anchor": "v6.12"}).status_code in (200, 303)
        look(running, running.rows("SELECT id FROM follow")[0]["id"], tmp_path)
        shown = http.get("/branches").text
    assert f'<span class="sha">{tagged[:12]}</span>, measured beside base and head in walltime' in shown
