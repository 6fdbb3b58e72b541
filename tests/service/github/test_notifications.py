"""The second comment, which GitHub notifies people of: for what fresh boots confirmed, and once."""

from typing import Any

import pytest
from app_world import World
from service_runs import MadeRun, arm_of, boots_of, record_of, run_of

from cliffwatch_service.tasks.github import defer_moving_reports

BASE = "1" * 40
POLICY = 'boots = "staged"\n[[target]]\nmode = "walltime"\nplatform = "amd-rome"\n'
STAGES = {"screen": 10, "screen_alpha": 0.1, "looks": [{"boots": 14, "alpha": 0.01}]}
SCREEN, CONFIRM = 10, 14


@pytest.fixture
def walltime(world: World, pull: Any) -> Any:
    """The pull request, of a repository whose policy measures in walltime, in stages."""
    world.running.enrol("amd-rome", "walltime")
    world.repository.commits[BASE].files[".cliffwatch.toml"] = POLICY
    world.open(pull)
    return pull


def staged(work: dict[str, Any], *, confirmed: bool) -> MadeRun:
    """Head's first case is slower by a tenth in the boots of the screen; in those that confirm only if it is
    so.
    """
    run = run_of(boots=SCREEN + CONFIRM, cases=3, shift=0.1, seed=7, spread=0.004)
    if not confirmed:
        run.logs[1, SCREEN:, 0] -= 0.0953
    plan = run.record["plan"]
    plan |= {"seed": work["seed"], "stages": STAGES}
    for boot in plan["boots"]:
        boot["stage"] = "screen" if boot["block"] < SCREEN else "confirm"
        boot["cases"] = boot["cases"] if boot["block"] < SCREEN else [0]
    for name, commit in (("base", work["base"]), ("head", work["head"])):
        arm_of(run.record, name)["facts"]["commit"] = commit
    return run


def measure(world: World, *, confirmed: bool) -> None:
    """As a host does: its first boots, what they ask for, and the whole."""
    world.running.token("of rome-1", "work", host="rome-1")
    offer = {"host": "rome-1", "isolation": "bubblewrap", "platform": "amd-rome", "modes": ["walltime"]}
    with world.running.http("of rome-1") as http:
        work = http.post("/api/v1/offers", json=offer).raise_for_status().json()
        run = staged(work, confirmed=confirmed)
        boots, planned = list(boots_of(run)), run.record["plan"]["boots"]
        for status, many in (("running", 2 * SCREEN), ("running", len(planned)), ("complete", len(planned))):
            run.record["plan"]["boots"] = planned[:many]
            http.put(
                f"/api/v1/runs/{run.digest}", json=record_of(run, status, job=work["job"])
            ).raise_for_status()
            for number, body in boots[:many]:
                of_plan = planned[number - 1]["cases"]
                for each in ("samples", "outcomes"):
                    body[each] = body[each][: len(of_plan)]
                http.put(f"/api/v1/runs/{run.digest}/boots/{number}", json=body).raise_for_status()
        end = {"outcome": "done", "run": run.digest}
        http.post(f"/api/v1/leases/{work['lease']}/complete", json=end).raise_for_status()
    world.do()


def notifications(world: World, pull: Any) -> list[Any]:
    return [each for each in world.ours(pull) if " regression:" in each.body.partition("\n")[0]]


def test_a_regression_that_fresh_boots_confirmed_notifies_once(world: World, walltime: Any) -> None:
    measure(world, confirmed=True)
    (told,) = notifications(world, walltime)
    assert "1 regression confirmed on fresh boots" in told.body
    for action in ("edited", "synchronize"):
        world.running.clock.pass_(minutes=6)
        with world.running.service.transaction() as connection:
            connection.execute("UPDATE github_pull_request SET shown = 'other other'")
        world.open(walltime, action)
        defer_moving_reports(world.running.service)  # type: ignore[arg-type] # it has the parts that are used
        world.do()
    assert [each.identity for each in notifications(world, walltime)] == [told.identity]
    created = [path for method, path in world.hub.requests if method == "POST" and path.endswith("/comments")]
    assert len(created) == 2


def test_what_fresh_boots_did_not_see_notifies_nobody(world: World, walltime: Any) -> None:
    measure(world, confirmed=False)
    (sticky,) = world.ours(walltime)
    assert "amd-rome" in sticky.body
    assert "slower" not in sticky.body.splitlines()[1]
    assert notifications(world, walltime) == []
