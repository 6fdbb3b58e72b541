"""Commands in comments: of those who may write to the repository, as GitHub says when they are read."""

from typing import Any

import pytest
from app_world import NAME, OUTSIDER, SECRET, World, do_all, wait_by_clock
from github_stand_in.webhooks import delivery

HEAD, NEXT = "2" * 40, "3" * 40


@pytest.fixture
def outside(world: World) -> Any:
    """A pull request of somebody from outside, which waits."""
    pull = world.hub.kept.pull(NAME, **OUTSIDER)
    world.open(pull)
    assert world.jobs() == []
    return pull


def reactions(world: World, comment: Any) -> list[str]:
    return [content for _, content in world.repository.comments[comment.identity].reactions]


def replies(world: World, pull: Any) -> list[str]:
    """Our answers, without their marker, the oldest first."""
    return [
        each.body.partition("\n")[2] for each in world.ours(pull) if " reply:" in each.body.partition("\n")[0]
    ]


def outcomes(world: World) -> list[str]:
    return [
        row["outcome"]
        for row in world.running.rows("SELECT outcome FROM github_command ORDER BY received, comment_id")
    ]


def test_a_maintainers_word_measures_a_pull_request_from_outside(world: World, outside: Any) -> None:
    said = world.say(outside, "alice", "looks fine\n\n/bench")
    assert world.jobs() == [("1111", "2222", "queued")]
    assert reactions(world, said) == ["rocket"]
    (sticky,) = world.ours(outside)
    assert "queued" in sticky.body
    assert world.running.rows("SELECT who, action FROM audit WHERE action = 'bench-command'") == [
        {"who": "github alice", "action": "bench-command"}
    ]


def test_the_word_holds_for_the_head_that_was_there(world: World, outside: Any) -> None:
    world.say(outside, "alice", "/bench")
    world.push(outside, NEXT)
    world.open(outside, "synchronize")
    assert world.jobs() == [("1111", "2222", "cancelled")]
    assert "write access" in world.ours(outside)[0].body.replace("\n", " ")


def test_a_head_that_was_pushed_after_the_word_is_not_measured(world: World, outside: Any) -> None:
    """The author swaps what the maintainer looked at before the service reads the comment."""
    comment = world.hub.kept.comment(NAME, outside.number, "alice", "/bench")
    world.sent("issue_comment", world.of_comment(comment))
    world.push(outside, NEXT)
    world.do()
    assert world.jobs() == []
    assert "moved after this comment" in replies(world, outside)[0]


def test_somebody_without_write_access_is_told_no_once(world: World, outside: Any) -> None:
    for _ in range(3):
        world.say(outside, "mallory", "/bench")
    assert world.jobs() == []
    assert len(replies(world, outside)) == 1
    assert "a maintainer can ask" in replies(world, outside)[0]
    assert outcomes(world) == ["declined"] * 3


def test_who_may_write_is_asked_of_github_and_not_of_the_payload(world: World, outside: Any) -> None:
    comment = world.hub.kept.comment(NAME, outside.number, "mallory", "/bench")
    content = world.of_comment(comment)
    content["comment"] |= {"author_association": "OWNER", "user": {"login": "alice"}}
    content["sender"] = {"login": "alice"}
    world.sent("issue_comment", content)
    world.do()
    assert world.jobs() == []


def test_rights_that_were_taken_away_meanwhile_count_no_more(world: World, outside: Any) -> None:
    comment = world.hub.kept.comment(NAME, outside.number, "alice", "/bench")
    world.sent("issue_comment", world.of_comment(comment))
    world.repository.permissions["alice"] = "read"
    world.do()
    assert world.jobs() == []


def test_what_the_comment_says_is_asked_of_github(world: World, outside: Any) -> None:
    """A payload with another text than the comment has, and a comment of another pull request."""
    other = world.hub.kept.pull(NAME, head=NEXT)
    comment = world.hub.kept.comment(NAME, outside.number, "alice", "no command at all")
    content = world.of_comment(comment)
    content["comment"]["body"] = "/bench"
    world.sent("issue_comment", content)
    elsewhere = world.hub.kept.comment(NAME, other.number, "alice", "/bench")
    world.sent("issue_comment", {**world.of_comment(elsewhere), "issue": content["issue"]})
    world.do()
    assert world.jobs() == []
    assert outcomes(world) == ["gone", "gone"]


def test_a_comment_that_comes_a_hundred_times_is_one_command(world: World, pull: Any) -> None:
    world.open(pull)
    said = world.say(pull, "alice", "/bench boots=3")
    for number in range(100):
        sent = delivery(
            "issue_comment", world.of_comment(said), SECRET, identity=f"00000000-0000-4000-8000-{number:012d}"
        )
        assert world.post(sent).status_code == 202
    world.do()
    assert world.jobs() == [("1111", "2222", "cancelled"), ("1111", "2222", "queued")]
    assert reactions(world, said) == ["rocket"]


def test_a_command_says_what_is_measured(world: World, pull: Any) -> None:
    world.repository.commit("5" * 40, "an older base")
    world.say(pull, "alice", "/bench suite=ringbufs,bloom mode=icount boots=3 base=5555555")
    (row,) = world.running.rows("SELECT suites, boots, base_commit, priority FROM request WHERE boots = '3'")
    assert row == {"suites": ["bloom", "ringbufs"], "boots": "3", "base_commit": "5" * 40, "priority": 0}


@pytest.mark.parametrize(
    ("command", "boots", "setup"),
    [
        ("/bench", "careful", {"layouts": 9}),
        ("/bench mode=walltime", "careful", {"layouts": 9}),
        ("/bench mode=icount", "careful", None),
        ("/bench boots=3", "3", None),
        ("/bench layouts=4", "careful", {"layouts": 4}),
        ("/bench boots=6 layouts=2", "6", {"layouts": 2}),
        ("/bench time=20m", "auto", {"seconds": 1200.0}),
    ],
)
def test_a_command_that_says_boots_replaces_the_layouts_of_the_policy(
    world: World, outside: Any, command: str, boots: str, setup: Any
) -> None:
    world.running.enrol("amd-rome", "walltime")
    targets = '[[target]]\nmode = "walltime"\nplatform = "amd-rome"\n[[target]]\nmode = "icount"\n'
    keys = 'boots = "careful"\nlayouts = 9\nmatched = true\n'
    world.repository.commits["1" * 40].files[".cliffwatch.toml"] = f"{keys}{targets}"
    world.say(outside, "alice", command)
    (row,) = world.running.rows("SELECT boots, setup FROM request")
    assert row == {"boots": boots, "setup": setup}


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("/bench layouts=4 boots=3", "4 layouts cannot share 3 boots of each kernel"),
        ("/bench time=20m boots=3", "a time chooses the number of boots"),
        ("/bench time=20m layouts=3", "a time chooses the layouts itself"),
        ("/bench time=20m mode=icount", "time: only for walltime"),
    ],
)
def test_boots_layouts_and_a_time_that_do_not_go_together_are_answered(
    world: World, outside: Any, command: str, said: str
) -> None:
    world.running.enrol("amd-rome", "walltime")
    targets = '[[target]]\nmode = "walltime"\nplatform = "amd-rome"\n[[target]]\nmode = "icount"\n'
    world.repository.commits["1" * 40].files[".cliffwatch.toml"] = targets
    world.say(outside, "alice", command)
    assert world.jobs() == []
    assert said in replies(world, outside)[-1]


def test_a_look_leaves_what_somebody_asked_of_the_same_head(world: World, pull: Any) -> None:
    world.open(pull)
    world.say(pull, "alice", "/bench boots=3")
    world.open(pull, "edited")
    assert [job[2] for job in world.jobs()] == ["cancelled", "queued"]


def test_the_same_again_is_measured_again(world: World, pull: Any) -> None:
    world.open(pull)
    world.say(pull, "alice", "/bench again case=bloom-lookup*")
    rows = world.running.rows("SELECT suites FROM request ORDER BY created, priority DESC")
    assert ["bloom"] in [row["suites"] for row in rows]


def test_cancelling_cancels_and_a_look_does_not_begin_again(world: World, pull: Any) -> None:
    world.open(pull)
    said = world.say(pull, "alice", "/bench cancel")
    assert world.jobs() == [("1111", "2222", "cancelled")]
    assert reactions(world, said) == ["+1"]
    assert "cancelled" in world.ours(pull)[0].body
    world.open(pull, "edited")
    assert world.jobs() == [("1111", "2222", "cancelled")]
    world.say(pull, "alice", "/bench cancel")
    assert "nothing left to cancel" in replies(world, pull)[0]


def test_a_cancellation_that_github_did_not_hear_of_is_answered_once_and_right(
    world: World, pull: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.open(pull)
    world.hub.faults.next("reactions/create-for-issue-comment", "secondary", "secondary", "secondary")
    wait_by_clock(world, monkeypatch)
    said = world.say(pull, "alice", "/bench cancel")
    do_all(world)
    assert world.jobs() == [("1111", "2222", "cancelled")]
    assert reactions(world, said) == ["+1"]
    assert replies(world, pull) == []


@pytest.mark.parametrize(
    "text", ["/bench suit=ringbufs", "/bench frobnicate", "/bench boots=many", "/bench suite=nosuch"]
)
def test_a_wrong_command_gets_a_reaction_and_one_line(world: World, pull: Any, text: str) -> None:
    world.open(pull)
    said = world.say(pull, "alice", text)
    assert reactions(world, said) == ["confused"]
    (reply,) = replies(world, pull)
    assert len(reply.strip().splitlines()) == 1
    assert world.jobs() == [("1111", "2222", "queued")]


def test_a_platform_that_nobody_offers_is_answered_with_what_there_is(world: World, pull: Any) -> None:
    world.open(pull)
    said = world.say(pull, "alice", "/bench platform=amd-milan")
    assert reactions(world, said) == ["confused"]
    assert "`emulated-x86-64` in icount" in replies(world, pull)[0]


def test_a_base_that_is_not_there_is_said(world: World, pull: Any) -> None:
    world.say(pull, "alice", "/bench base=nosuch")
    assert "no such commit" in replies(world, pull)[0]


def test_help_and_bisection_are_answered(world: World, pull: Any) -> None:
    world.say(pull, "alice", "/bench help")
    world.say(pull, "alice", "/bench bisect case=x")
    helped, bisected = replies(world, pull)
    assert "`/bench cancel`" in helped
    assert "does not bisect" in bisected


def test_what_is_quoted_is_no_command(world: World, outside: Any) -> None:
    world.say(outside, "alice", "> /bench\n\nwhat does that do?")
    assert world.jobs() == []
    assert world.running.rows("SELECT * FROM github_command") == []


def test_a_comment_to_an_issue_is_none(world: World, pull: Any) -> None:
    comment = world.hub.kept.comment(NAME, pull.number, "alice", "/bench")
    content = world.of_comment(comment)
    del content["issue"]["pull_request"]
    world.sent("issue_comment", content)
    assert world.running.rows("SELECT id FROM procrastinate_jobs") == []


def test_a_comment_that_is_gone_is_left(world: World, pull: Any) -> None:
    comment = world.hub.kept.comment(NAME, pull.number, "alice", "/bench")
    world.sent("issue_comment", world.of_comment(comment))
    del world.repository.comments[comment.identity]
    world.do()
    assert outcomes(world) == ["gone"]


def test_a_branch_as_base_means_its_merge_base_with_the_pull_request(world: World, pull: Any) -> None:
    parted = "1" * 40
    world.repository.commit("7" * 40, "newer", parted)
    world.repository.branches["bpf-next"] = "7" * 40
    world.say(pull, "alice", "/bench base=bpf-next boots=3")
    world.say(pull, "alice", "/bench base=7777777 boots=4")
    rows = world.running.rows(
        "SELECT boots, base_commit FROM request WHERE boots IN ('3', '4') ORDER BY boots"
    )
    assert rows == [{"boots": "3", "base_commit": parted}, {"boots": "4", "base_commit": "7" * 40}]


def test_a_base_that_has_all_of_the_pull_request_is_refused(world: World, pull: Any) -> None:
    world.repository.commit("7" * 40, "merged", HEAD)
    said = world.say(pull, "alice", "/bench base=7777777 boots=3")
    assert reactions(world, said) == ["confused"]
    assert "head is older than that base" in replies(world, pull)[0].replace("\n", " ")
    assert world.running.rows("SELECT FROM request WHERE boots = '3'") == []


def test_a_pull_request_that_no_suite_executes_is_not_measured_and_said(world: World) -> None:
    world.repository.commit("1" * 40, "base")
    world.repository.commit("6" * 40, "words", "1" * 40, files={"Documentation/bpf/ringbuf.rst": "words"})
    number = world.hub.kept.pull(NAME, head="6" * 40)
    world.open(number)
    assert world.jobs() == []
    (sticky,) = world.ours(number)
    said = " ".join(sticky.body.split())
    assert (
        "no suite executes what head changes (Documentation/bpf/ringbuf.rst), so nothing is measured" in said
    )
    world.say(number, "alice", "/bench suite=bloom")
    assert [job[2] for job in world.jobs()] == ["queued"]
