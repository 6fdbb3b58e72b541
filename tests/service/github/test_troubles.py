"""GitHub that fails, wants patience, or knows the repository by another name: nothing is lost, and nothing is
said twice.
"""

from typing import Any

import pytest
from app_world import NAME, World, do_all, wait_by_clock
from github_stand_in.faults import RETRYABLE, Fault, Kind

HEAD, NEXT = "2" * 40, "3" * 40
ALL: tuple[Kind, ...] = (*RETRYABLE, "dropped", "lost")
MOST_REQUESTS = 400
"""Of all that is done below, one in eight of them in vain: a task that does not wait would be beyond it soon.
"""


@pytest.mark.parametrize("seed", range(3))
def test_a_github_that_fails_at_random_is_told_everything_in_the_end(
    world: World, pull: Any, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Answers that are lost after the deed are among it: a comment that was made, and of which we never
    heard.
    """
    waits = wait_by_clock(world, monkeypatch)
    world.hub.faults.at_random(seed, 0.12, ALL)
    world.open(pull)
    said = world.hub.kept.comment(NAME, pull.number, "alice", "/bench boots=3")
    world.sent("issue_comment", world.of_comment(said))
    do_all(world)
    world.push(pull, NEXT)
    world.open(pull, "synchronize")
    do_all(world)

    (sticky,) = [each for each in world.ours(pull) if " sticky " in each.body.partition("\n")[0]]
    assert NEXT[:12] in sticky.body
    assert "queued" in sticky.body.splitlines()[1]
    assert len(world.ours(pull)) == 1
    assert said.reactions == [("cliffwatch[bot]", "rocket")]
    assert [job[1:] for job in world.jobs()] == [
        ("2222", "cancelled"),
        ("2222", "cancelled"),
        ("3333", "queued"),
    ]
    at_head = {each.head[:4]: each.content["status"] for each in world.repository.checks.values()}
    assert at_head["3333"] == "queued"
    assert at_head["2222"] == "completed"
    assert world.hub.faults.happened
    assert len(world.hub.requests) < MOST_REQUESTS
    assert max(waits) <= 5
    assert world.running.rows("SELECT id FROM procrastinate_jobs WHERE status <> 'succeeded'") == []


def test_a_wait_that_github_asks_for_is_waited(world: World, pull: Any) -> None:
    """No request is made before, from the task that was told so."""
    world.hub.faults.next(
        "pulls/get", Fault("too-many", 1200), Fault("secondary", 1200), Fault("primary", 1200)
    )
    for _ in range(3):
        world.sent("pull_request", world.of_pull(pull))
        world.do()
        (task,) = world.running.rows(
            "SELECT extract(epoch FROM scheduled_at - now()) AS wait FROM procrastinate_jobs WHERE status ="
            " 'todo'"
        )
        assert 1000 < task["wait"] <= 1200
        asked = len(world.hub.requests)
        world.do()
        assert len(world.hub.requests) == asked
        with world.running.service.transaction() as connection:
            connection.execute("UPDATE procrastinate_jobs SET scheduled_at = now() WHERE status = 'todo'")
    world.do()
    assert len(world.ours(pull)) == 1


def test_a_renamed_repository_is_told_under_its_new_name(world: World, pull: Any) -> None:
    """Nobody told us: GitHub redirects who reads, and does nothing for who writes."""
    world.open(pull)
    content = world.of_pull(pull, "synchronize")
    world.hub.kept.rename(NAME, "bpf/kernel")
    pull.head_repository = "bpf/kernel"
    repository = world.hub.kept.repositories["bpf/kernel"]
    repository.commit(NEXT, "bpf: another", pull.base, files={"kernel/bpf/core.c": "x"})
    pull.head = NEXT
    world.sent("pull_request", content)
    do_all(world)
    (sticky,) = world.hub.kept.comments_of("bpf/kernel", pull.number, world.hub.kept.app.login)
    assert NEXT[:12] in sticky.body
    assert {each.head[:4] for each in repository.checks.values()} == {"2222", "3333"}
    assert world.running.rows("SELECT name FROM github_repository") == [{"name": "bpf/kernel"}]
