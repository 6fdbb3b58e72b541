"""What a pull request is told: one comment that follows the jobs, and a check run beside it."""

import itertools
import random
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from app_world import NAME, OUTSIDER, SECRET, World
from github_stand_in.webhooks import delivery
from service_runs import MadeRun, arm_of, boots_of, put_all, record_of, run_of

from cliffwatch_service.store import background
from cliffwatch_service.tasks.github import defer_moving_reports
from cliffwatch_service.tasks.process import task_process

BASE, HEAD, NEXT = "1" * 40, "2" * 40, "3" * 40
TARGET = {"platform": "emulated-x86-64", "modes": ["icount"], "setups": True}


def first_line(body: str) -> str:
    """Below the marker."""
    return body.splitlines()[1]


def checks(world: World) -> dict[str, tuple[str, str | None, str]]:
    """Status, conclusion and title of the check run of each head (its first characters)."""
    return {
        each.head[:4]: (
            each.content["status"],
            each.content.get("conclusion"),
            each.content["output"]["title"],
        )
        for each in world.repository.checks.values()
    }


def take(world: World) -> dict[str, Any]:
    """The job that an enrolled host is given next."""
    world.running.token("of emulator-1", "work", host="emulator-1")
    with world.running.http("of emulator-1") as http:
        answer = http.post("/api/v1/offers", json={"host": "emulator-1", "isolation": "bubblewrap", **TARGET})
    work_: dict[str, Any] = answer.raise_for_status().json()
    return work_


def run_for(work_: dict[str, Any], *, shift: float = 0.0) -> MadeRun:
    run = run_of(
        boots=4,
        seed=int(work_["head"][0], 16),
        cases=3,
        shift=shift,
        host="emulator-1",
        spread=0.0005,
        platform="emulated-x86-64",
        mode="icount",
    )
    run.record["plan"]["seed"] = work_["seed"]
    for name, commit in (("base", work_["base"]), ("head", work_["head"])):
        arm_of(run.record, name)["facts"]["commit"] = commit
    return run


def measure(world: World, *, shift: float = 0.0) -> None:
    work_ = take(world)
    run = run_for(work_, shift=shift)
    with world.running.http("of emulator-1") as http:
        put_all(http, run, job=work_["job"])
        end = {"outcome": "done", "run": run.digest}
        http.post(f"/api/v1/leases/{work_['lease']}/complete", json=end).raise_for_status()
    world.do()


def minute(world: World, **passed: float) -> None:
    """The round of the next minute."""
    world.running.clock.pass_(**(passed or {"minutes": 1}))
    defer_moving_reports(world.running.service)  # type: ignore[arg-type] # it has the parts that are used
    world.do()


def test_a_pull_request_hears_within_five_seconds(world: World, pull: Any) -> None:
    """From the webhook to the comment, the service's own start of tasks included."""
    sent = delivery("pull_request", world.of_pull(pull), SECRET)
    began = time.monotonic()
    assert world.post(sent).status_code == 202
    world.do()
    taken = time.monotonic() - began
    (comment,) = world.ours(pull)
    assert "queued" in comment.body
    assert taken < 5


def test_a_running_service_answers_a_pull_request_within_five_seconds(world: World, pull: Any) -> None:
    """With its own process for tasks, which is told of new ones."""
    world.running.clock.moment = datetime.now(UTC)
    settings = world.running.service.settings
    with task_process(settings, world.running.database):
        until(lambda: len(world.running.rows("SELECT id FROM procrastinate_workers")) == 3, 120)
        began = time.monotonic()
        assert world.post(delivery("pull_request", world.of_pull(pull), SECRET)).status_code == 202
        until(lambda: len(world.ours(pull)) == 1, 60)
        taken = time.monotonic() - began
    print(f"from the webhook to the comment: {taken:.2f} s")  # noqa: T201 - a figure for who runs this by hand
    assert taken < 5


def until(there: Callable[[], bool], seconds: float) -> None:
    ends, turn = time.monotonic() + seconds, threading.Event()
    while not there():
        assert time.monotonic() < ends
        turn.wait(0.02)


def test_one_comment_follows_the_job_to_its_result(world: World, pull: Any) -> None:
    world.open(pull)
    assert checks(world)["2222"][:2] == ("queued", None)
    work_ = take(world)
    minute(world)
    (comment,) = world.ours(pull)
    assert "building" in comment.body
    run = run_for(work_, shift=0.05)
    with world.running.http("of emulator-1") as http:
        put_all(http, run, job=work_["job"])
        minute(world, minutes=6)
        assert "boot" in world.ours(pull)[0].body
        end = {"outcome": "done", "run": run.digest}
        http.post(f"/api/v1/leases/{work_['lease']}/complete", json=end).raise_for_status()
    minute(world)
    comment, *more = world.ours(pull)
    assert "slower" in first_line(comment.body)
    status, conclusion, title = checks(world)["2222"]
    assert (status, conclusion) == ("completed", "neutral")
    assert "slower" in title
    assert "cliffwatch run --tree https://github.com/bpf/linux.git" in comment.body.replace("\n", " ")
    assert f"https://cliffwatch.example.org/compare/{BASE}...{HEAD}" in comment.body
    assert [each.body.split()[2].split(":")[0] for each in more] in ([], ["regression"])


def test_the_comment_says_the_result_without_waiting_for_the_minute(world: World, pull: Any) -> None:
    world.open(pull)
    measure(world)
    (comment,) = world.ours(pull)
    assert "no change" in first_line(comment.body) or "unchanged" in first_line(comment.body)


def test_progress_alone_is_posted_every_few_minutes(world: World, pull: Any) -> None:
    """GitHub takes five hundred comments of an App an hour."""
    world.open(pull)
    work_ = take(world)
    run = run_for(work_)
    numbered = list(boots_of(run))
    with world.running.http("of emulator-1") as http:

        def working_minute() -> int:
            """The edits after a minute in which the host kept its lease, whenever leases are looked at."""
            http.post(f"/api/v1/leases/{work_['lease']}/heartbeat", json={}).raise_for_status()
            minute(world)
            return world.ours(pull)[0].edits

        working_minute()
        http.put(
            f"/api/v1/runs/{run.digest}", json=record_of(run, "running", job=work_["job"])
        ).raise_for_status()
        http.put(f"/api/v1/runs/{run.digest}/boots/{numbered[0][0]}", json=numbered[0][1]).raise_for_status()
        edits = working_minute()
        http.put(f"/api/v1/runs/{run.digest}/boots/{numbered[1][0]}", json=numbered[1][1]).raise_for_status()
        assert [working_minute() - edits for _ in range(6)] == [0, 0, 0, 0, 1, 1]


def test_what_says_the_same_is_not_posted_again(world: World, pull: Any) -> None:
    world.open(pull)
    asked = len(world.hub.requests)
    minute(world, hours=1)
    assert [each for each in world.hub.requests[asked:] if each[0] != "GET"] == []


def test_a_push_is_told_in_the_same_comment_and_ends_the_check_of_the_head_before(
    world: World, pull: Any
) -> None:
    world.open(pull)
    world.push(pull, NEXT)
    world.open(pull, "synchronize")
    (comment,) = world.ours(pull)
    assert "333333" in comment.body
    assert checks(world)["2222"][:2] == ("completed", "cancelled")
    assert checks(world)["3333"][0] == "queued"


def test_a_late_task_does_not_bring_back_what_was(world: World, pull: Any) -> None:
    """Another process that told of an earlier state finds a later one there, and leaves it."""
    world.open(pull)
    world.push(pull, NEXT)
    world.open(pull, "synchronize")
    (comment,) = world.ours(pull)
    before = comment.body
    with world.running.service.transaction() as connection:
        connection.execute("UPDATE github_pull_request SET sequence = 0, shown = NULL, head = %s", [HEAD])
    with world.running.service.transaction() as connection:
        background.defer_pull_request_report(
            connection, connection.execute("SELECT id FROM github_pull_request").fetchone()[0]
        )
    world.do()
    (comment,) = world.ours(pull)
    assert comment.body == before


@pytest.mark.parametrize("seed", range(1))
def test_a_thousand_deliveries_leave_one_comment_of_what_is_so(world: World, pull: Any, seed: int) -> None:
    drawn = random.Random(seed)
    for head in (NEXT, "4" * 40):
        world.push(pull, head)
    heads = [HEAD, NEXT, "4" * 40]
    pull.head = heads[0]
    bodies = [world.of_pull(pull, action) for action in ("opened", "synchronize", "edited", "reopened")]
    copies = [
        (delivery("pull_request", body, SECRET), f"00000000-0000-4000-8000-{number:012d}")
        for body, number in itertools.product(bodies, range(250))
    ]
    drawn.shuffle(copies)
    for index, (each, number) in enumerate(copies):
        if index in (333, 666):
            pull.head = heads[index // 333]
        assert world.post(each, **{"x-github-delivery": number}).status_code == 202
        if index % 111 == 0:
            world.do()
    world.do()
    (comment,) = world.ours(pull)
    assert "444444" in comment.body
    assert [job[2] for job in world.jobs()] == ["cancelled", "cancelled", "queued"]


@pytest.mark.parametrize(("fail_on", "conclusion"), [("[]", "neutral"), ('["failed"]', "failure")])
def test_a_kernel_that_does_not_build_fails_the_check_where_the_policy_says_so(
    world: World, pull: Any, fail_on: str, conclusion: str
) -> None:
    world.repository.commits[BASE].files[".cliffwatch.toml"] = f"fail-on = {fail_on}\n"
    world.open(pull)
    work_ = take(world)
    with world.running.http("of emulator-1") as http:
        end = {"outcome": "kernel-failed", "reason": "kernel/bpf/core.c:1: error: expected ;"}
        http.post(f"/api/v1/leases/{work_['lease']}/complete", json=end).raise_for_status()
    minute(world)
    assert checks(world)["2222"][:2] == ("completed", conclusion)
    assert "expected ;" in world.ours(pull)[0].body


def test_the_commands_that_repeat_jobs_say_the_time_of_walltime_alone(world: World, pull: Any) -> None:
    world.running.enrol("amd-rome", "walltime")
    targets = '[[target]]\nmode = "icount"\n[[target]]\nmode = "walltime"\nplatform = "amd-rome"\n'
    world.repository.commits[BASE].files[".cliffwatch.toml"] = f'time = "20m"\n{targets}'
    world.open(pull)
    measure(world, shift=0.05)
    minute(world)
    said = world.ours(pull)[0].body.replace("\\\n", " ")
    commands = [" ".join(line.split()) for line in said.splitlines() if "cliffwatch run --tree" in line]
    assert {("--mode icount" in command, "--time 1200s" in command) for command in commands} == {
        (True, False),
        (False, True),
    }


@pytest.mark.parametrize(("platform", "accel"), [("rehearsal-x86-64", True), ("amd-rome", False)])
def test_the_command_that_repeats_a_rehearsal_rehearses(
    world: World, pull: Any, platform: str, accel: bool
) -> None:
    world.running.enrol(platform, "walltime")
    target = f'[[target]]\nmode = "walltime"\nplatform = "{platform}"\n'
    world.repository.commits[BASE].files[".cliffwatch.toml"] = target
    world.open(pull)
    minute(world)
    said = " ".join(world.ours(pull)[0].body.replace("\\\n", " ").split())
    assert f"--platform {platform}" in said
    assert (f"--mode walltime --accel tcg --platform {platform}" in said) is accel


def test_a_change_that_no_suite_executes_is_said_and_fails_no_check(world: World, pull: Any) -> None:
    world.repository.commits[BASE].files[".cliffwatch.toml"] = 'fail-on = ["failed"]\n'
    world.open(pull)
    work_ = take(world)
    with world.running.http("of emulator-1") as http:
        end = {
            "outcome": "not-possible",
            "reason": "cliffwatch: no suite executes what head changes: kernel/bpf/core.c",
        }
        http.post(f"/api/v1/leases/{work_['lease']}/complete", json=end).raise_for_status()
    minute(world)
    status, conclusion, title = checks(world)["2222"]
    assert (status, conclusion) == ("completed", "neutral")
    assert "Not possible as asked for, nothing was compared" in title
    said = world.ours(pull)[0].body
    assert "no suite executes what head changes: kernel/bpf/core.c" in said
    assert "/bench suite=NAME" in said
    assert "kernel failed" not in said


def test_a_locked_conversation_has_its_check_run(world: World, pull: Any) -> None:
    pull.locked = True
    world.open(pull)
    assert world.ours(pull) == []
    assert checks(world)["2222"][0] == "queued"
    failed = world.running.rows(
        "SELECT id FROM procrastinate_jobs WHERE status <> 'succeeded' AND queue_name = 'github'"
    )
    assert failed == []


def test_an_expired_token_is_fetched_anew(world: World, pull: Any) -> None:
    world.open(pull)
    world.running.clock.pass_(hours=2)
    world.push(pull, NEXT)
    world.open(pull, "synchronize")
    assert "333333" in world.ours(pull)[0].body


def test_a_token_that_github_withdrew_is_fetched_anew(world: World, pull: Any) -> None:
    """In the middle of a task, before its time."""
    world.hub.kept.token_seconds = 0.001
    world.sent("pull_request", world.of_pull(pull))
    world.hub.kept.token_seconds = 3600.0
    world.do()
    assert len(world.ours(pull)) == 1


def test_a_revoked_installation_cancels_what_nobody_can_be_told(world: World, pull: Any) -> None:
    world.open(pull)
    world.hub.kept.installations[world.installation].revoked = True
    world.sent("installation", world.made("installation", "deleted"))
    world.do()
    assert world.jobs() == [("1111", "2222", "cancelled")]
    assert world.running.rows("SELECT state FROM github_installation") == [{"state": "removed"}]
    world.open(pull, "synchronize")
    assert world.jobs() == [("1111", "2222", "cancelled")]


def test_a_revoked_installation_that_nobody_told_of_is_found_out(world: World, pull: Any) -> None:
    world.open(pull)
    world.hub.kept.installations[world.installation].revoked = True
    world.push(pull, NEXT)
    world.open(pull, "synchronize")
    assert world.running.rows("SELECT state FROM github_installation") == [{"state": "removed"}]
    failed = world.running.rows("SELECT id FROM procrastinate_jobs WHERE status IN ('failed', 'todo')")
    assert failed == []


def test_a_suspended_installation_comes_back(world: World, pull: Any) -> None:
    world.open(pull)
    world.hub.kept.installations[world.installation].suspended = True
    world.sent("installation", {**world.made("installation", "created"), "action": "suspend"})
    world.do()
    assert world.running.rows("SELECT state FROM github_installation") == [{"state": "suspended"}]
    world.hub.kept.installations[world.installation].suspended = False
    world.open(pull, "reopened")
    assert [job[2] for job in world.jobs()] == ["cancelled", "queued"]


def test_what_github_cannot_do_now_is_done_again(world: World, pull: Any) -> None:
    world.hub.faults.next("pulls/get", "503")
    world.hub.faults.next("issues/create-comment", "502")
    world.open(pull)
    (task,) = world.running.rows("SELECT id, attempts FROM procrastinate_jobs WHERE status = 'todo'")
    assert task["attempts"] == 1
    with world.running.service.transaction() as connection:
        connection.execute("UPDATE procrastinate_jobs SET scheduled_at = now() WHERE status = 'todo'")
    world.do()
    assert len(world.ours(pull)) == 1


def test_a_pull_request_from_outside_waits_and_says_so_once(world: World) -> None:
    pull = world.hub.kept.pull(NAME, **OUTSIDER)
    for action in ("opened", "synchronize", "edited"):
        world.open(pull, action)
    (comment,) = world.ours(pull)
    assert "write access" in comment.body.replace("\n", " ")
    assert world.jobs() == []


def test_a_hostile_pull_request_changes_nothing_but_its_own_text(world: World) -> None:
    hostile = (
        "](https://evil.example) <img src=x onerror=alert(1)> @everybody ::set-output name=a::b"
        " `$(reboot)` |x|"
    )
    world.repository.commit(BASE, "base", files={".cliffwatch.toml": 'suites = ["local-storage"]\n'})
    world.repository.commit(
        HEAD, f"{hostile}\n\n<!-- cliffwatch sticky 99999999 -->", BASE, files={"kernel/x.c": "x"}
    )
    pull = world.hub.kept.pull(NAME, title=hostile, body=hostile, head_branch="x`@everybody`")
    world.open(pull)
    work_ = take(world)
    run = run_for(work_, shift=0.05)
    run.record["notes"] = [hostile]
    arm_of(run.record, "head")["label"] = hostile
    arm_of(run.record, "head")["facts"]["subject"] = hostile
    with world.running.http("of emulator-1") as http:
        put_all(http, run, job=work_["job"])
        end = {"outcome": "done", "run": run.digest}
        http.post(f"/api/v1/leases/{work_['lease']}/complete", json=end).raise_for_status()
    world.do()
    texts = [each.body for each in world.ours(pull)] + [
        each.content["output"]["summary"] for each in world.repository.checks.values()
    ]
    assert texts
    for text in texts:
        shown = "\n".join(
            part for index, part in enumerate(text.replace("```", "\0").split("\0")) if index % 2 == 0
        )
        plain = "".join(part for index, part in enumerate(shown.split("`")) if index % 2 == 0)
        assert "@everybody" not in plain
        assert "<img" not in plain
        assert not any(line.startswith("::") for line in text.splitlines())
    assert world.running.rows("SELECT id FROM run WHERE of_history") == []


def test_v2_is_shown_beside_v1(world: World) -> None:
    repository = world.repository
    repository.commit("a" * 40, "bpf: upstream")
    repository.commit("c" * 40, "bpf: first", "a" * 40, files={"kernel/bpf/a.c": "a"})
    repository.branches["bpf-next_base"] = "a" * 40
    pull = world.hub.kept.pull(
        NAME,
        base="a" * 40,
        head="c" * 40,
        title="[bpf-next,1/1] bpf: faster maps",
        body="version: 1",
        head_branch="series/358111=>bpf-next",
        base_branch="bpf-next_base",
    )
    world.open(pull)
    measure(world, shift=0.05)
    repository.commit("d" * 40, "bpf: better", "a" * 40, files={"kernel/bpf/a.c": "b"})
    pull.head, pull.body, pull.title = "d" * 40, "version: 2", "[bpf-next,v2,1/1] bpf: faster maps"
    world.open(pull, "synchronize")
    measure(world, shift=0.03)
    sticky = next(each.body for each in world.ours(pull) if " sticky " in each.body)
    assert "v2" in sticky
    assert "v1" in sticky
    assert "358111" in sticky
