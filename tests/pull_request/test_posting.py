"""What is posted stays one, whatever GitHub and others do meanwhile."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from github_stand_in.faults import Fault
from github_stand_in.server import StandIn
from stand_in_client import BOT, REPOSITORY, Moment, speaker

from cliffwatch.failure import Failure, HttpFailure
from cliffwatch.pull_request.comment import CheckRun
from cliffwatch.pull_request.marker import Marker
from cliffwatch.pull_request.posting import (
    Patience,
    Posted,
    put_check_run,
    put_notification,
    put_reply,
    put_sticky,
    react,
)

HEAD = "2" * 40


def body(sequence: int, kind: str = "sticky") -> str:
    return f"{Marker(kind=kind, sequence=sequence)}\nstate {sequence}\n"


def put(github: StandIn, moment: Moment, sequence: int, **more: Any) -> Posted | Failure:
    return asyncio.run(put_sticky(speaker(github, moment, **more), REPOSITORY, 1, body(sequence)))


def shown(github: StandIn) -> list[str]:
    return [each.body for each in github.kept.comments_of(REPOSITORY, 1, BOT)]


def how(posted: Posted | Failure) -> str:
    assert isinstance(posted, Posted), posted
    return posted.how


def test_one_comment_is_edited_in_place(github: StandIn, moment: Moment) -> None:
    assert [how(put(github, moment, each)) for each in (1, 2, 2, 1)] == [
        "created",
        "edited",
        "unchanged",
        "outdated",
    ]
    assert shown(github) == [body(2)]


def test_what_is_unchanged_is_not_written(github: StandIn, moment: Moment) -> None:
    put(github, moment, 1)
    before = len(github.requests)
    put(github, moment, 1)

    assert [method for method, _ in github.requests[before:]] == ["GET"]


def test_a_comment_of_somebody_else_with_our_marker_is_not_ours(github: StandIn, moment: Moment) -> None:
    theirs = github.kept.comment(REPOSITORY, 1, "mallory", body(999))

    assert how(put(github, moment, 1)) == "created"
    assert theirs.body == body(999)
    assert shown(github) == [body(1)]


def test_our_comment_is_found_behind_pages_of_others(github: StandIn, moment: Moment) -> None:
    for index in range(150):
        github.kept.comment(REPOSITORY, 1, "octocat", f"{index}")
    put(github, moment, 1)

    assert how(put(github, moment, 2)) == "edited"
    assert shown(github) == [body(2)]


def test_a_comment_that_somebody_deleted_is_made_anew(github: StandIn, moment: Moment) -> None:
    put(github, moment, 1)
    github.kept.repositories[REPOSITORY].comments.clear()

    assert how(put(github, moment, 2)) == "created"
    assert shown(github) == [body(2)]


def test_a_comment_that_somebody_edited_is_put_right(github: StandIn, moment: Moment) -> None:
    put(github, moment, 1)
    github.kept.comments_of(REPOSITORY, 1, BOT)[0].body = f"{Marker(kind='sticky', sequence=1)}\nmine"

    assert how(put(github, moment, 1)) == "edited"
    assert shown(github) == [body(1)]


def test_of_duplicates_the_oldest_stays_with_the_latest_content(github: StandIn, moment: Moment) -> None:
    oldest = github.kept.comment(REPOSITORY, 1, BOT, body(1))
    github.kept.comment(REPOSITORY, 1, BOT, body(7))
    github.kept.comment(REPOSITORY, 1, BOT, body(3))

    assert put(github, moment, 5) == Posted(identity=oldest.identity, how="outdated")
    assert shown(github) == [body(7)]


def test_an_answer_that_was_lost_leaves_no_second_comment(github: StandIn, moment: Moment) -> None:
    github.faults.next("issues/create-comment", "lost")

    put(github, moment, 1)

    assert shown(github) == [body(1)]


def test_limits_are_waited_for_as_github_says(github: StandIn, moment: Moment) -> None:
    github.faults.next(
        "issues/list-comments", Fault("secondary", 7), Fault("too-many", 11), Fault("primary", 90)
    )

    assert how(put(github, moment, 1)) == "created"
    assert moment.waits == [7, 11, 90]


def test_a_limit_beyond_our_patience_is_a_failure_that_says_when(github: StandIn, moment: Moment) -> None:
    github.faults.next("issues/list-comments", Fault("primary", 3000))

    failure = put(github, moment, 1)

    assert isinstance(failure, HttpFailure)
    assert failure.wait == 3000
    assert failure.next_step == "ask again in 50 min 00 s"
    assert moment.waits == []


def test_what_stays_broken_is_a_failure_after_a_few_tries(github: StandIn, moment: Moment) -> None:
    github.faults.at_random(1, 1.0, ("502", "dropped"))

    failure = put(github, moment, 1, patience=Patience(tries=4))

    assert isinstance(failure, Failure)
    assert failure.whose == "host"
    assert len(github.requests) == 4
    assert moment.waits == [1, 2, 4]


def test_a_silent_github_is_a_failure(github: StandIn, moment: Moment) -> None:
    github.faults.at_random(1, 1.0, ("silent",))

    assert isinstance(put(github, moment, 1, patience=Patience(tries=2), timeout=0.1), Failure)


def test_a_locked_pull_request_takes_no_comment_and_says_so(github: StandIn, moment: Moment) -> None:
    github.kept.repositories[REPOSITORY].pulls[1].locked = True

    failure = put(github, moment, 1)

    assert isinstance(failure, Failure)
    assert (failure.whose, failure.message) == ("usage", "the pull request is locked: it takes no comments")
    assert moment.waits == []


def test_a_token_that_expired_is_made_anew(github: StandIn, moment: Moment) -> None:
    poster = speaker(github, moment)
    asyncio.run(put_sticky(poster, REPOSITORY, 1, body(1)))
    moment.seconds += 3700
    poster = speaker(github, moment)
    expired = github.kept.token(BOT, seconds=-1)
    given = [expired]

    async def token(fresh: bool) -> str | Failure:
        if fresh:
            given.append(github.kept.token(BOT))
        return given[-1]

    again = type(poster)(api=poster.api, author=BOT, token=token, now=poster.now)

    assert how(asyncio.run(put_sticky(again, REPOSITORY, 1, body(2)))) == "edited"
    assert len(given) == 2


@pytest.mark.parametrize("suspended", [False, True])
def test_an_installation_that_is_gone_is_a_failure(github: StandIn, moment: Moment, suspended: bool) -> None:
    poster = speaker(github, moment)
    asyncio.run(put_sticky(poster, REPOSITORY, 1, body(1)))
    installation = next(iter(github.kept.installations.values()))
    installation.suspended, installation.revoked = suspended, not suspended

    failure = asyncio.run(put_sticky(poster, REPOSITORY, 1, body(2)))

    assert isinstance(failure, Failure)
    assert failure.whose == "host"
    assert shown(github) == [body(1)]


def test_a_pull_request_that_is_gone_is_a_failure(github: StandIn, moment: Moment) -> None:
    failure = asyncio.run(put_sticky(speaker(github, moment), REPOSITORY, 2, body(1)))

    assert isinstance(failure, Failure)
    assert "removed" in failure.message


def test_a_notification_is_made_once_for_each_head_and_stands_beside_the_sticky_one(
    github: StandIn, moment: Moment
) -> None:
    poster = speaker(github, moment)

    async def speak() -> None:
        await put_sticky(poster, REPOSITORY, 1, body(1))
        for head in ("a", "a", "b"):
            await put_notification(poster, REPOSITORY, 1, body(1, f"regression:{head}"))

    asyncio.run(speak())

    assert shown(github) == [body(1), body(1, "regression:a"), body(1, "regression:b")]


def test_a_command_is_answered_and_reacted_to_once(github: StandIn, moment: Moment) -> None:
    asked = github.kept.comment(REPOSITORY, 1, "octocat", "/bench")
    poster = speaker(github, moment)

    async def answer() -> None:
        for _ in range(3):
            assert await react(poster, REPOSITORY, asked.identity, "eyes") is None
            await put_reply(poster, REPOSITORY, 1, "Asked.", to=str(asked.identity))

    asyncio.run(answer())

    assert asked.reactions == [(BOT, "eyes")]
    assert [each.split("\n")[1] for each in shown(github)] == ["Asked."]


def check(sequence: int, *, done: bool = False) -> CheckRun:
    status, conclusion = ("completed", "neutral") if done else ("in_progress", None)
    return CheckRun(
        sequence=sequence, title=f"{sequence}", summary="words", status=status, conclusion=conclusion
    )  # type: ignore[arg-type]


def test_a_check_run_is_updated_and_never_by_an_earlier_state(github: StandIn, moment: Moment) -> None:
    poster = speaker(github, moment)
    runs = [check(1), check(3, done=True), check(2), check(3, done=True)]

    done = [asyncio.run(put_check_run(speaker(github, moment), REPOSITORY, HEAD, each)) for each in runs]

    assert [how(each) for each in done] == ["created", "edited", "outdated", "unchanged"]
    (kept,) = github.kept.repositories[REPOSITORY].checks.values()
    assert (kept.content["conclusion"], kept.content["output"]["title"]) == ("neutral", "3")
    assert poster.author == BOT


def test_a_check_run_whose_answer_was_lost_is_one(github: StandIn, moment: Moment) -> None:
    github.faults.next("checks/create", "lost")

    asyncio.run(put_check_run(speaker(github, moment), REPOSITORY, HEAD, check(1)))

    assert len(github.kept.repositories[REPOSITORY].checks) == 1


def test_updates_out_of_order_leave_one_comment(github: StandIn, moment: Moment) -> None:
    """Duplicates, replays and every fault but the silent one, which would only take long."""
    random_ = random.Random(14)
    sequences = [random_.randint(1, 300) for _ in range(395)] + [300, 299, 300, 1, 150]
    github.faults.at_random(
        14, 0.1, ("500", "502", "503", "secondary", "too-many", "primary", "lost", "dropped")
    )
    poster = speaker(github, moment, patience=Patience(tries=9))

    async def speak() -> list[Posted | Failure]:
        return [await put_sticky(poster, REPOSITORY, 1, body(each)) for each in sequences]

    done = asyncio.run(speak())

    assert [each for each in done if isinstance(each, Failure)] == []
    assert shown(github) == [body(300)]
    assert len({kind for _, kind in github.faults.happened}) == 8


def test_posters_at_the_same_time_leave_one_comment_in_the_end(github: StandIn, moment: Moment) -> None:
    posters = [speaker(github, moment) for _ in range(8)]

    async def together(*acts: Callable[[], Awaitable[Any]]) -> None:
        await asyncio.gather(*(act() for act in acts))

    acts = [
        lambda poster=poster, each=each: put_sticky(poster, REPOSITORY, 1, body(each))
        for each, poster in enumerate(posters)
    ]
    asyncio.run(together(*acts))
    put(github, moment, 8)

    assert shown(github) == [body(8)]
