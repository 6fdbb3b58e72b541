"""What people name: runs and commits as pages show them, tags and branches, ranges as git writes them."""

from pathlib import Path
from typing import Any

import pytest
import toy
from service_running import Running
from service_runs import commit_of, run_of

from cliffwatch_service.history.follow import poll
from cliffwatch_service.history.git import tags_of
from cliffwatch_service.store import trees
from cliffwatch_service.store.history import ancestry

BASE, HEAD = commit_of("join"), commit_of("loom")  # with letters among their digits
RUN = run_of(boots=6, cases=2, base="join", head="loom", parents={"loom": ["join"]})
OTHER = run_of(boots=6, cases=2, base="join", head="loom", seed=2, created="2026-11-21T12:00:00+00:00")


@pytest.fixture
def measured(running: Running) -> Any:
    """Two runs of two revisions on the branch for-next/bpf of a tree with a tag, with a newer commit that
    nobody measured.
    """
    for name in ("for-next/bpf", "master"):
        running.follow("https://git.example.org/bpf-next.git", name, [BASE, HEAD, commit_of("newer")])
    for run in (RUN, OTHER):
        running.measure(run)
    running.do_tasks()
    with running.service.transaction() as connection:
        tree = trees.keep_tree(connection, "https://git.example.org/bpf-next.git", running.clock.now())
        trees.keep_tags(connection, tree, {"v6.12": BASE, "v6.13": "f" * 40})
    return running


def reached(running: Running, path: str, **query: str) -> tuple[str, int]:
    """Where an address leads to, and how that answers."""
    with running.http(None) as http:
        answer = http.get(path, params=query or None, follow_redirects=True)
    return answer.url.raw_path.decode(), answer.status_code


@pytest.mark.parametrize(
    ("path", "there"),
    [
        (f"/compare/{BASE[:12]}...{HEAD[:12]}", f"/compare/{BASE[:12]}...{HEAD[:12]}"),
        (f"/compare/{BASE[:12].upper()}...{HEAD.upper()}", f"/compare/{BASE[:12]}...{HEAD[:12]}"),
        (f"/compare/{BASE[:12]}..{HEAD[:12]}", f"/compare/{BASE[:12]}...{HEAD[:12]}"),
        ("/compare/v6.12..master?verdict=changed", f"/compare/{BASE[:12]}...{HEAD[:12]}?verdict=changed"),
        ("/compare/v6.12...master.json", f"/compare/{BASE[:12]}...{HEAD[:12]}.json"),
        ("/compare/v6.12...for-next/bpf", f"/compare/{BASE[:12]}...{HEAD[:12]}"),
        ("/compare/v6.12/master", f"/compare/{BASE[:12]}...{HEAD[:12]}"),
        ("/compare/nearest...master", f"/compare/nearest...{HEAD[:12]}"),
        (f"/compare/{RUN.digest[:12]}", f"/compare/{RUN.digest[:12]}"),
        (f"/compare/{RUN.digest[:12].upper()}", f"/compare/{RUN.digest[:12]}"),
        (f"/compare/{RUN.digest[:12]}..{OTHER.digest}", f"/compare/{RUN.digest[:12]}...{OTHER.digest[:12]}"),
        ("/revisions/for-next/bpf", "/revisions/for-next/bpf"),
        ("/revisions/refs/tags/v6.12", "/revisions/refs/tags/v6.12"),
        (f"/revisions/{HEAD.upper()}", f"/revisions/{HEAD.upper()}"),
        (f"/runs/{RUN.digest[:12]}", f"/runs/{RUN.digest[:12]}"),
        (f"/runs/{RUN.digest[:12].upper()}/boots/1", f"/runs/{RUN.digest[:12].upper()}/boots/1"),
    ],
)
def test_an_address_takes_what_people_write(path: str, there: str, measured: Any) -> None:
    assert reached(measured, path) == (there, 200)


@pytest.mark.parametrize(
    ("base", "head", "there"),
    [
        ("v6.12", "for-next/bpf", f"{BASE[:12]}...{HEAD[:12]}"),
        ("", "v6.12..master", f"{BASE[:12]}...{HEAD[:12]}"),
        (f"{BASE[:9].upper()} ", f" {HEAD}", f"{BASE[:12]}...{HEAD[:12]}"),
        ("", "master", f"nearest...{HEAD[:12]}"),
        (RUN.digest[:12], OTHER.digest[:12], f"{RUN.digest[:12]}...{OTHER.digest[:12]}"),
        ("", RUN.digest[:12], RUN.digest),
    ],
)
def test_the_form_takes_what_people_write(base: str, head: str, there: str, measured: Any) -> None:
    assert reached(measured, "/compare", base=base, head=head) == (f"/compare/{there}", 200)


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        ("/compare/v6.11...master", 422, "is no commit, tag or followed branch"),
        ("/compare/v6.13...master", 422, "is no commit, tag or followed branch"),
        (f"/compare/{RUN.digest[:12]}...master", 422, "one side is a run and the other a revision"),
        (f"/compare/{HEAD[:12]}...nearest", 422, "is no commit, tag"),
        ("/compare/...", 422, "write BASE...HEAD"),
        ("/compare/one/two/three", 404, "a comparison is at /compare/BASE...HEAD"),
        ("/runs/0123456", 404, "there is no run"),
        ("/revisions/a%00b", 422, "is no commit, tag"),
    ],
)
def test_what_names_nothing_is_refused_with_what_would(
    path: str, status: int, words: str, measured: Any
) -> None:
    with measured.http(None) as http:
        answer = http.get(path, follow_redirects=True)
    assert (answer.status_code, words in answer.text) == (status, True)


def test_a_name_in_two_trees_is_told_apart_by_commits(measured: Any) -> None:
    with measured.service.transaction() as connection:
        tree = trees.keep_tree(connection, "https://git.example.org/bpf.git", measured.clock.now())
        (base,) = trees.keep_revisions(connection, [trees.RevisionFacts(commit=BASE)])
        trees.set_branch_end(connection, trees.keep_branch(connection, tree, "master"), 1, [base])
    with measured.http(None) as http:
        answer = http.get("/compare/nearest...master")
    assert answer.status_code == 409
    assert f"{BASE[:12]} in https://git.example.org/bpf.git" in answer.text


def test_neighbours_are_those_that_the_chosen_platform_measured(measured: Any) -> None:
    """Between two revisions that Rome measured lies one that only Skylake did."""
    measured.measure(
        run_of(boots=1, cases=1, base="newer", head="newer", platform="intel-skylake", host="sky-1")
    )
    with measured.service.transaction() as connection:
        ids = dict(connection.execute("SELECT commit, id FROM revision").fetchall())
        tree = trees.keep_tree(connection, "https://git.example.org/bpf-next.git", measured.clock.now())
        line = [ids[BASE], ids[commit_of("newer")], ids[HEAD]]
        for name in ("for-next/bpf", "master"):
            trees.set_branch_end(connection, trees.keep_branch(connection, tree, name), 0, line)
        everywhere = ancestry.measured_neighbours(connection, ids[HEAD])
        on_rome = ancestry.measured_neighbours(connection, ids[HEAD], platform="amd-rome")
    assert (everywhere.before, everywhere.before_is_first) == (commit_of("newer"), False)
    assert (on_rome.before, on_rome.before_is_first) == (BASE, True)


def test_tags_of_a_followed_tree_are_known_by_the_commits_that_they_name(
    running: Running, served: Any, tmp_path: Path
) -> None:
    url, repository = served
    toy.git(
        repository, "-c", "user.name=A", "-c", "user.email=a@example.org", "tag", "-a", "-m", "x", "annotated"
    )
    commit = toy.git(repository, "rev-parse", "HEAD")
    toy.git(repository, "tag", "light")
    tags = tags_of(url)
    assert isinstance(tags, dict)
    assert (tags["light"], tags["annotated"]) == (commit, commit)
    body = {"tree": url, "branch": "master", "policy": "commit", "suites": ["local-storage"]}
    body["targets"] = [{"platform": "emulated-x86-64", "mode": "icount"}]
    with running.http("admin") as http:
        number = http.post("/api/v1/follows", json=body).raise_for_status().json()["follow"]
    with running.service.transaction() as connection:
        poll(connection, number, tmp_path / "git", running.clock.now())
    assert {"annotated", "light"} <= {row["name"] for row in running.rows("SELECT name FROM tag")}
    assert running.get("/revisions/light")["commit"] == commit
