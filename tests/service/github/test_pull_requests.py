"""Pull requests: what is so on GitHub decides what is measured, whatever webhooks said and in
whatever order.
"""

import base64
import itertools
import random
from typing import Any

import pytest
from app_world import NAME, OUTSIDER, SECRET, World
from github_stand_in.webhooks import delivery

BASE, HEAD, NEXT = "1" * 40, "2" * 40, "3" * 40


def test_a_pull_request_is_measured_against_its_merge_base(world: World, pull: Any) -> None:
    world.repository.commit("f" * 40, "something else", BASE, files={"Makefile": "x"})
    world.repository.branches["master"] = "f" * 40
    world.open(pull)
    assert world.jobs() == [("1111", "2222", "queued")]
    (row,) = world.running.rows("SELECT tree, suites, boots, profile, note FROM request")
    assert row == {
        "tree": "https://github.com/bpf/linux.git",
        "suites": ["auto"],
        "boots": "auto",
        "profile": "smoke",
        "note": "bpf/linux#1",
    }


def test_its_code_is_outside_and_its_results_are_no_history(world: World, pull: Any) -> None:
    world.running.follow("https://github.com/bpf/linux.git", "master", [BASE])
    world.open(pull)
    offered = {
        "host": "emulator-1",
        "platform": "emulated-x86-64",
        "modes": ["icount"],
        "isolation": "bubblewrap",
    }
    world.running.token("of emulator-1", "work", host="emulator-1")
    with world.running.http("of emulator-1") as http:
        work = http.post("/api/v1/offers", json=offered).raise_for_status().json()
    assert work["trust"] == "outside"
    assert world.running.rows("SELECT trust FROM lease") == [{"trust": "outside"}]


def test_a_push_cancels_what_it_supersedes(world: World, pull: Any) -> None:
    world.open(pull)
    world.push(pull, NEXT)
    world.open(pull, "synchronize")
    assert world.jobs() == [("1111", "2222", "cancelled"), ("1111", "3333", "queued")]


def test_results_of_a_head_that_comes_back_are_not_measured_again(world: World, pull: Any) -> None:
    """They are keyed by the head's hash."""
    world.open(pull)
    with world.running.service.transaction() as connection:
        connection.execute("UPDATE job SET state = 'done', ended = created")
    world.push(pull, NEXT)
    world.open(pull, "synchronize")
    pull.head = HEAD
    world.open(pull, "synchronize")
    assert world.jobs() == [("1111", "2222", "done"), ("1111", "3333", "cancelled")]
    states = world.running.rows("SELECT pull_head, state FROM github_measurement ORDER BY id")
    assert [row["state"] for row in states] == ["asked", "superseded"]


def test_a_head_that_comes_back_and_was_cancelled_is_measured_anew(world: World, pull: Any) -> None:
    world.open(pull)
    world.push(pull, NEXT)
    world.open(pull, "synchronize")
    pull.head = HEAD
    world.open(pull, "synchronize")
    assert [job[1:] for job in world.jobs()] == [
        ("2222", "cancelled"),
        ("3333", "cancelled"),
        ("2222", "queued"),
    ]


def test_a_closed_pull_request_is_cancelled_and_a_reopened_one_begins_anew(world: World, pull: Any) -> None:
    world.open(pull)
    pull.state = "closed"
    world.open(pull, "closed")
    assert world.jobs() == [("1111", "2222", "cancelled")]
    pull.state = "open"
    world.open(pull, "reopened")
    assert [job[2] for job in world.jobs()] == ["cancelled", "queued"]


def test_what_webhooks_claim_is_asked_of_github(world: World, pull: Any) -> None:
    """A payload that names another head, an owner as its author and an open state changes nothing of what is
    so.
    """
    pull.state = "closed"
    content = world.of_pull(pull)
    content["pull_request"] |= {"state": "open", "author_association": "OWNER", "head": {"sha": "9" * 40}}
    world.sent("pull_request", content)
    world.do()
    assert world.jobs() == []


@pytest.mark.parametrize("seed", range(1))
def test_a_thousand_copies_in_any_order_are_one_measurement(world: World, pull: Any, seed: int) -> None:
    """Redelivered, replayed under other numbers, late and out of order, while the service works on them."""
    drawn = random.Random(seed)
    heads = [HEAD, NEXT, "4" * 40]
    for head in heads[1:]:
        world.push(pull, head)
    pull.head = heads[0]
    bodies = [
        world.of_pull(pull, "opened"),
        world.of_pull(pull, "synchronize"),
        world.of_pull(pull, "edited"),
        {**world.of_pull(pull, "synchronize"), "before": heads[0], "after": heads[1]},
    ]
    deliveries = [delivery("pull_request", body, SECRET) for body in bodies]
    numbers = [str(number) for number in range(250)]
    copies = [
        (each, f"00000000-0000-4000-8000-{int(number):012d}")
        for each, number in itertools.product(deliveries, numbers)
    ]
    drawn.shuffle(copies)
    for index, (each, number) in enumerate(copies):
        if index in (300, 600):
            pull.head = heads[index // 300]
        answer = world.post(each, **{"x-github-delivery": number})
        assert answer.status_code == 202
        if index % 170 == 0:
            world.do()
    world.do()
    assert world.jobs()[-1] == ("1111", "4444", "queued")
    assert [job[2] for job in world.jobs()] == ["cancelled", "cancelled", "queued"]


def policy(world: World, text: str, where: str = BASE) -> None:
    world.repository.commits[where].files[".cliffwatch.toml"] = text


def test_the_policy_is_of_the_base_branch_and_never_of_head(world: World, pull: Any) -> None:
    policy(world, 'suites = ["ringbufs"]\nboots = 2\n')
    policy(world, 'suites = ["all"]\n', HEAD)
    world.open(pull)
    (row,) = world.running.rows("SELECT suites, boots FROM request")
    assert row == {"suites": ["ringbufs"], "boots": "2"}


def test_a_series_as_a_base_gives_no_policy(world: World) -> None:
    """Whoever sends a mail puts files into its branch: by them a stranger would trust himself."""
    branch = "series/358111=>bpf-next"
    pull = world.hub.kept.pull(NAME, **OUTSIDER, base_branch=branch)
    world.repository.branches[branch] = BASE
    policy(world, '[trust]\nauthors = ["mallory"]\n')
    world.open(pull)
    assert world.jobs() == []


def test_an_administrators_policy_goes_before_the_file(world: World, pull: Any) -> None:
    policy(world, 'suites = ["ringbufs"]\n')
    world.open(pull)
    with world.running.service.transaction() as connection:
        connection.execute("UPDATE github_repository SET policy = %s", ['suites = ["bloom"]\n'])
    world.push(pull, NEXT)
    world.open(pull, "synchronize")
    assert [
        row["suites"]
        for row in world.running.rows("SELECT suites FROM request ORDER BY created, head_commit")
    ] == [
        ["ringbufs"],
        ["bloom"],
    ]


def test_a_policy_that_is_wrong_measures_nothing_and_says_why(world: World, pull: Any) -> None:
    policy(world, "suits = 1\n")
    world.open(pull)
    assert world.jobs() == []
    (row,) = world.running.rows("SELECT problem FROM github_pull_request")
    assert "unknown key 'suits'; did you mean 'suites'?" in row["problem"]


def test_kernel_code_after_hundreds_of_files_for_ci_is_measured(world: World, pull: Any) -> None:
    """GitHub lists 300 files of a comparison, in the order of their names."""
    world.repository.commits[HEAD].files = {f".github/{number:03d}.yml": "x" for number in range(300)}
    world.open(pull)
    assert world.jobs() == [("1111", "2222", "queued")]


def test_a_platform_that_nobody_has_says_so(world: World, pull: Any) -> None:
    policy(world, '[[target]]\nmode = "walltime"\nplatform = "nosuch"\n')
    world.open(pull)
    assert world.jobs() == []
    (row,) = world.running.rows("SELECT problem FROM github_pull_request")
    assert "no enrolled host offers nosuch:walltime" in row["problem"]


def test_a_pull_request_of_ci_files_alone_is_not_measured(world: World) -> None:
    world.repository.commit(BASE, "base")
    world.repository.commit(HEAD, "ci: more", BASE, files={".github/workflows/a.yml": "x", "ci/x": "y"})
    world.open(world.hub.kept.pull(NAME))
    assert world.jobs() == []


SERIES = {
    "head_branch": "series/358111=>bpf-next",
    "base_branch": "bpf-next_base",
    "login": "kernel-patches[bot]",
}
UPSTREAM, CI, FIRST, SECOND = (digit * 40 for digit in "abcd")


@pytest.fixture
def series(world: World) -> Any:
    """A series as kernel-patches shows it: upstream, a commit of CI files, two patches, and a commit of CI
    files.
    """
    repository = world.repository
    repository.commit(UPSTREAM, "bpf: upstream")
    repository.commit(
        CI, "adding ci files", UPSTREAM, files={".github/workflows/test.yml": "x", "ci/vmtest": "y"}
    )
    repository.commit(FIRST, "bpf: first", CI, files={"kernel/bpf/a.c": "a"})
    repository.commit(SECOND, "bpf: second", FIRST, files={"kernel/bpf/b.c": "b"})
    repository.commit("e" * 40, "ci: tweak", SECOND, files={"ci/vmtest": "z"})
    repository.branches["bpf-next_base"] = CI
    return world.hub.kept.pull(
        NAME,
        base=CI,
        head="e" * 40,
        title="[bpf-next,v2,0/2] bpf: faster maps",
        body=(
            "Pull request for series with\nsubject: bpf: faster maps\nversion: 2\nurl:"
            " https://patchwork.kernel.org/x/?series=358111"
        ),
        **SERIES,
    )


def recorded(world: World, series: Any, commit: str, login: str = SERIES["login"]) -> None:
    text = f"Upstream branch: {commit}\nseries: https://patchwork.kernel.org/x/?series=358111\nversion: 2"
    comment = world.hub.kept.comment(NAME, series.number, login, text)
    world.sent("issue_comment", world.of_comment(comment))
    world.do()


def test_commits_of_ci_files_alone_are_left_out_of_both_sides(world: World, series: Any) -> None:
    world.open(series)
    assert world.jobs() == [("aaaa", "dddd", "queued")]
    (row,) = world.running.rows("SELECT series, version, head FROM github_pull_request")
    assert (row["series"], row["version"], row["head"]) == (358111, 2, "e" * 40)


def test_the_recorded_upstream_base_is_the_base(world: World, series: Any) -> None:
    world.repository.commit("9" * 40, "bpf: older")
    world.repository.commits[UPSTREAM].parents = ("9" * 40,)
    world.open(series)
    recorded(world, series, "9" * 40)
    assert world.jobs() == [("aaaa", "dddd", "cancelled"), ("9999", "dddd", "queued")]


def test_a_base_that_somebody_else_records_is_nobodys(world: World, series: Any) -> None:
    world.repository.commit("9" * 40, "bpf: older")
    world.repository.commits[UPSTREAM].parents = ("9" * 40,)
    world.open(series)
    recorded(world, series, "9" * 40, "mallory")
    assert world.jobs() == [("aaaa", "dddd", "queued")]


def test_a_fork_whose_branch_is_called_like_a_series_is_none(world: World) -> None:
    pull = world.hub.kept.pull(NAME, **{**OUTSIDER, "head_branch": "series/1=>bpf-next"})
    world.open(pull)
    (row,) = world.running.rows("SELECT series, version, waits FROM github_pull_request")
    assert row == {"series": None, "version": None, "waits": True}


def test_a_push_to_a_followed_branch_is_looked_at_at_once(world: World) -> None:
    number = world.running.follow("https://github.com/bpf/linux", "master", [BASE])
    world.running.follow("https://github.com/bpf/linux", "other", [BASE])
    world.sent("push", world.made("push", ref="refs/heads/master"))
    asked = world.running.rows("SELECT args FROM procrastinate_jobs WHERE task_name = 'poll-branch'")
    follow = world.running.rows(f"SELECT id FROM follow WHERE branch_id = {number}")[0]["id"]
    assert asked == [{"args": {"follow": follow}}]


def test_a_push_to_a_branch_that_nobody_follows_is_nothing(world: World) -> None:
    world.sent("push", world.made("push", ref="refs/heads/master"))
    assert world.running.rows("SELECT id FROM procrastinate_jobs") == []


def test_pull_requests_from_branches_named_for_a_shell_change_nothing(world: World) -> None:
    pull = world.hub.kept.pull(
        NAME, head_branch="$(reboot)`x`;&", title="::set-output name=x::y\n@everybody <img src=x>"
    )
    world.open(pull)
    assert world.jobs() == [("1111", "2222", "queued")]


def test_content_of_the_policy_is_read_as_base64(world: World, pull: Any) -> None:
    """A file that is no text is refused in words."""
    policy(world, base64.b64encode(b"\xff").decode() + "\n= =")
    world.open(pull)
    assert world.jobs() == []
