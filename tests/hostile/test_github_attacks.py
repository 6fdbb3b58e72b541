"""Somebody from outside attacks the approval of his pull request: what was approved is what is built, by
whoever may approve it now.
"""

from typing import Any

import pytest
from app_world import NAME, OUTSIDER, World, clock, hub, settings, world

from cliffwatch_service.github.pull_requests import pull_request_look
from cliffwatch_service.github.pull_requests.measured_range import load_measured_range

__all__ = ["clock", "hub", "settings", "world"]

HEAD, NEXT = "2" * 40, "3" * 40


def replies(world: World, pull: Any) -> list[str]:
    return [each.body for each in world.ours(pull) if " reply:" in each.body.partition("\n")[0]]


def test_a_word_to_a_pull_request_that_nobody_knew_yet_approves_nothing(world: World) -> None:
    """The author pushes other code after a maintainer's word, before the service has read of either."""
    pull = world.hub.kept.pull(NAME, **OUTSIDER)
    world.sent("pull_request", world.of_pull(pull))
    comment = world.hub.kept.comment(NAME, pull.number, "alice", "/bench")
    world.sent("issue_comment", world.of_comment(comment))
    world.push(pull, NEXT)
    world.do()

    assert world.jobs() == []
    assert "was not known here when the comment was written" in replies(world, pull)[0].replace("\n", " ")
    world.say(pull, "alice", "/bench")
    assert world.jobs() == [("1111", "3333", "queued")]


def test_a_push_while_the_word_is_carried_out_changes_nothing_of_what_is_built(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    pull = world.hub.kept.pull(NAME, **OUTSIDER)
    world.open(pull)
    real = load_measured_range

    def pushed_meanwhile(*given: Any) -> Any:
        world.push(pull, NEXT)
        return real(*given)

    monkeypatch.setattr(pull_request_look, "load_measured_range", pushed_meanwhile)
    world.say(pull, "alice", "/bench")

    assert world.jobs() == [("1111", "2222", "queued")]
    assert world.running.rows("SELECT approved_head FROM github_pull_request") == [{"approved_head": HEAD}]
    world.open(pull, "synchronize")
    assert world.jobs() == [("1111", "2222", "cancelled")]


def test_a_word_holds_for_one_head_whatever_was_pushed_in_between(world: World) -> None:
    """Pushed away and back by force: the approved head is measured again, the other one never."""
    pull = world.hub.kept.pull(NAME, **OUTSIDER)
    world.open(pull)
    world.say(pull, "alice", "/bench")
    for head in (NEXT, HEAD, NEXT):
        world.push(pull, head)
        world.open(pull, "synchronize")

    assert {head for _, head, _ in world.jobs()} == {"2222"}
    assert {state for _, _, state in world.jobs()} == {"cancelled"}


def test_what_a_bot_says_is_no_command(world: World) -> None:
    """It may quote what a stranger wrote into a title or a log; that it may write to the repository says
    nothing of him.
    """
    world.repository.permissions["helper[bot]"] = "write"
    pull = world.hub.kept.pull(NAME, **OUTSIDER)
    world.open(pull)
    world.say(pull, "helper[bot]", "/bench")

    assert world.jobs() == []
    assert replies(world, pull) == []


def test_an_edited_comment_is_no_command(world: World) -> None:
    """Neither one that becomes a command, nor one whose command was carried out."""
    pull = world.hub.kept.pull(NAME, **OUTSIDER)
    world.open(pull)
    said = world.say(pull, "alice", "Interesting.")
    said.body = "/bench"
    world.sent("issue_comment", {**world.of_comment(said), "action": "edited"})
    world.do()
    assert world.jobs() == []

    other = world.say(pull, "alice", "/bench cancel")
    other.body = "/bench"
    for action in ("edited", "created"):
        world.sent("issue_comment", {**world.of_comment(other), "action": action})
    world.do()
    assert world.jobs() == []


def test_rights_are_asked_for_each_word(world: World) -> None:
    """A maintainer who approved one head and lost his rights approves no other."""
    pull = world.hub.kept.pull(NAME, **OUTSIDER)
    world.open(pull)
    world.say(pull, "alice", "/bench")
    world.repository.permissions["alice"] = "read"
    world.push(pull, NEXT)
    world.open(pull, "synchronize")
    world.say(pull, "alice", "/bench")

    assert world.jobs() == [("1111", "2222", "cancelled")]
