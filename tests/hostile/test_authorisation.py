"""Every operation, by everybody, on what is theirs and on what is another's."""

import re
from typing import Any

import pytest
from authorisation_world import CASES, FORMS, TREE, World, send, tries, world_of
from service_running import Running
from service_runs import commit_of, put_all, record_of, run_of

from cliffwatch_service.access.authorisation import RIGHTS
from cliffwatch_service.command.app import create_app
from cliffwatch_service.http.large import LargeWork

BEYOND_TOKENS = ("/healthz", "/readyz", "/metrics")


@pytest.fixture
def world(running: Running) -> World:
    return world_of(running)


def described(running: Running) -> set[str]:
    """The operations of the description, as `METHOD /path`."""
    paths = running.get("/openapi.json")["paths"]
    return {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods}


def forms_of(running: Running) -> set[str]:
    """What pages send: every route that takes a POST and is not described."""
    operations: set[str] = set()

    def look(routes: Any) -> None:
        for route in routes:
            inner = getattr(route, "original_router", None) or getattr(route, "app", None)
            if "POST" in (getattr(route, "methods", None) or ()):
                operations.add(f"POST {route.path_format}")
            elif hasattr(inner, "routes"):
                look(inner.routes)

    look(create_app(running.service, LargeWork(running.service.settings, running.database)).routes)
    return {each for each in operations if "/api/" not in each}


def test_every_operation_is_in_the_table_and_in_this_test(running: Running) -> None:
    """A new one fails here until somebody has said who may do it to whose."""
    known, forms = described(running), forms_of(running)
    assert forms == set(FORMS)
    assert set(RIGHTS) == known | forms
    assert {f"{method} /api/v1{path}" for method, path in map(str.split, CASES)} == {
        each for each in known if not each.endswith(BEYOND_TOKENS)
    }


def test_what_the_table_lacks_is_nobodys(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(RIGHTS, "GET /api/v1/suites")  # type: ignore[arg-type]
    with running.http("admin") as http:
        answer = http.get("/api/v1/suites")
    assert (answer.status_code, "missing from the service's table of rights" in answer.json()["detail"]) == (
        403,
        True,
    )


def outcome(who: str, answer: Any) -> str:
    """Whether somebody was let through, and that a refusal says why."""
    if answer.status_code not in (401, 403):
        assert answer.status_code < 500, answer.text
        return "through"
    assert answer.status_code == (401 if who == "public" else 403), (who, answer.text)
    return "refused"


def wanted(who: str, allowed: tuple[str, ...]) -> str:
    return "through" if who in allowed else "refused"


def test_everybody_gets_through_to_what_is_his_and_nobody_to_anothers(world: World) -> None:
    wrong = []
    for operation, cases in CASES.items():
        for who, case in tries(world, cases):
            with world.running.http(None if who == "public" else who) as http:
                answer = send(http, operation.split()[0], case)
            if outcome(who, answer) != wanted(who, case.allowed):
                wrong.append(f"{who}: {operation} {case.what}: {answer.status_code} {answer.text[:200]}")
    assert wrong == []


def test_forms_of_pages_obey_the_same_table(world: World) -> None:
    wrong = []
    for operation, cases in FORMS.items():
        for who, case in tries(world, cases):
            with world.running.http(None) as http:
                field = signed_in(http, world, who)
                answer = http.post(case.path, data={**(case.body or {}), "form_token": field})
            if outcome(who, answer) != wanted(who, case.allowed):
                wrong.append(f"{who}: {operation} {case.what}: {answer.status_code} {answer.text[:200]}")
    assert wrong == []


def signed_in(http: Any, world: World, who: str) -> str:
    """Signs somebody in; what his forms carry."""
    if who == "public":
        return ""
    http.post("/sign-in", data={"token": world.running.tokens[who]})
    field = re.search(r'name="form_token" value="([^"]+)"', http.get("/").text)
    assert field is not None
    return field[1]


@pytest.mark.parametrize("who", ["read", "of rome-1"])
def test_a_private_service_shows_strangers_nothing_and_its_own_everything(world: World, who: str) -> None:
    settings = world.running.service.settings.model_copy(update={"public_reading": False})
    object.__setattr__(world.running.service, "settings", settings)
    for operation, cases in CASES.items():
        for who_tries, case in tries(world, cases) if operation.startswith("GET") else ():
            if who_tries == "public" and "public" in case.allowed:
                with world.running.http(None) as http:
                    assert send(http, "GET", case).status_code == 401, operation
                with world.running.http(who) as http:
                    assert outcome(who, send(http, "GET", case)) == "through", operation


def test_only_the_button_that_works_is_shown(world: World) -> None:
    for who, shown in (("mine", True), ("theirs", False), ("of rome-1", False), ("admin", True)):
        with world.running.http(None) as http:
            signed_in(http, world, who)
            page = http.get(f"/jobs/{world.known['job']}").text
        assert ("Cancel this job" in page) is shown, who


def test_a_run_that_names_another_hosts_job_does_not_attach_to_it(world: World) -> None:
    """Neither with the other's job, nor with its own job that asked for something else."""
    before = world.running.rows("SELECT id, run_id FROM job ORDER BY id")
    stolen = run_of(boots=1, cases=1, seed=70, host="rome-2")
    with world.running.http("of rome-2") as http:
        answer = http.put(f"/api/v1/runs/{stolen.digest}", json=record_of(stolen, job=world.job))
    assert (answer.status_code, "never took job" in answer.json()["detail"]) == (403, True)
    other = run_of(boots=1, cases=1, seed=71, head="something-else")
    with world.running.http("of rome-1") as http:
        answer = http.put(f"/api/v1/runs/{other.digest}", json=record_of(other, job=world.job))
    assert (answer.status_code, "head is" in answer.json()["detail"]) == (409, True)
    assert world.running.rows("SELECT id, run_id FROM job ORDER BY id") == before


def test_a_lease_is_not_completed_with_another_run(world: World) -> None:
    """Not with another's, and not with one of the same host for another job."""
    elsewhere = run_of(boots=1, cases=1, seed=72)
    with world.running.http("of rome-1") as http:
        put_all(http, elsewhere)
        for run in (world.own.digest, elsewhere.digest):
            end = {"outcome": "done", "run": run}
            answer = http.post(f"/api/v1/leases/{world.leases['rome-1']}/complete", json=end)
            assert (answer.status_code, "was not made by host" in answer.json()["detail"]) == (409, True)
        end = {"outcome": "done", "run": world.leased.digest}
        answer = http.post(f"/api/v1/leases/{world.leases['rome-1']}/complete", json=end)
    assert answer.json() == {"state": "done"}


def test_a_late_run_of_a_job_that_went_on_is_stored_and_does_not_replace_the_other(running: Running) -> None:
    late = run_of(boots=1, cases=1)
    lost = running.lease(late)
    running.clock.pass_(minutes=10)
    done = run_of(boots=1, cases=1, host="rome-2")
    taken = running.lease(done)
    assert taken["job"] == lost["job"]
    late.record["plan"]["seed"] = lost["seed"]
    with running.http("of rome-2") as http:
        put_all(http, done, job=taken["job"])
    with running.http("of rome-1") as http:
        put_all(http, late, job=lost["job"])
    assert running.get(f"/jobs/{lost['job']}")["run"] == done.digest
    assert {row["run"] for row in running.get("/runs")["items"]} == {late.digest, done.digest}


def offer(running: Running, who: str, host: str, platform: str) -> Any:
    body = {"host": host, "platform": platform, "modes": ["walltime"], "isolation": "bubblewrap"}
    with running.http(who) as http:
        return http.post("/api/v1/offers", json=body)


def test_a_host_name_is_not_squatted_with_another_platform(running: Running) -> None:
    """Somebody uploads and offers in a host's name first: the token that an administrator makes for it takes
    the name.
    """
    squat = run_of(boots=1, cases=1, platform="nowhere", host="rome-1")
    with running.http("upload") as http:
        put_all(http, squat)
    assert offer(running, "work", "rome-1", "nowhere").status_code == 204
    running.token("of rome-1", "work", host="rome-1")

    assert offer(running, "of rome-1", "rome-1", "amd-rome").status_code == 204
    assert running.rows("SELECT platform FROM host WHERE name = 'rome-1'") == [{"platform": "amd-rome"}]
    answer = offer(running, "work", "rome-1", "nowhere")
    assert (answer.status_code, "has a token of its own" in answer.json()["detail"]) == (403, True)
    assert offer(running, "of rome-1", "rome-1", "intel-skylake").status_code == 409


def test_a_squatters_lease_ends_when_the_host_itself_comes(running: Running) -> None:
    run = run_of(boots=1, cases=1)
    squatted = running.lease(run, token="work")
    running.token("of rome-1", "work", host="rome-1")
    taken = offer(running, "of rome-1", "rome-1", "amd-rome").json()
    assert (taken["job"], taken["lease"] == squatted["lease"]) == (squatted["job"], False)
    with running.http("work") as http:
        assert http.post(f"/api/v1/leases/{squatted['lease']}/heartbeat").status_code == 409


@pytest.mark.parametrize("name", ["import", "import amd-rome"])
def test_names_of_imported_files_are_nobodys(running: Running, name: str) -> None:
    """A run under one would answer for a file that somebody imports later."""
    run = run_of(boots=1, cases=1, host=name)
    with running.http("admin") as http:
        answer = http.put(f"/api/v1/runs/{run.digest}", json=record_of(run))
    assert (answer.status_code, "kept for imported files" in answer.json()["detail"]) == (403, True)
    assert offer(running, "work", name, "amd-rome").status_code == 403


def test_two_workers_without_a_token_of_their_own_do_not_share_a_name(running: Running) -> None:
    running.token("work2", "work")
    assert offer(running, "work", "box-1", "amd-rome").status_code == 204
    answer = offer(running, "work2", "box-1", "amd-rome")
    assert (answer.status_code, "--name" in answer.json()["detail"]) == (403, True)
    with running.http("admin") as http:
        http.delete("/api/v1/tokens/work").raise_for_status()
    assert offer(running, "work2", "box-1", "amd-rome").status_code == 204


def test_a_hosts_token_is_made_for_nothing_but_measuring(running: Running) -> None:
    with running.http("admin") as http:
        body = {"name": "odd", "scopes": ["work", "admin"], "host": "rome-1"}
        answer = http.post("/api/v1/tokens", json=body)
    assert (answer.status_code, "leave out admin" in answer.json()["detail"]) == (422, True)


def test_requests_of_another_are_told_apart_by_key_and_token(world: World) -> None:
    """The same Idempotency-Key of another token is another request, and nobody's is answered
    with another's.
    """
    body = {
        "tree": TREE,
        "base": commit_of("base"),
        "head": commit_of("h83"),
        "targets": [{"platform": "amd-rome", "mode": "walltime"}],
        "suites": ["local-storage"],
    }
    with world.running.http("theirs") as http:
        made = (
            http.post("/api/v1/requests", json=body, headers={"Idempotency-Key": "mine"})
            .raise_for_status()
            .json()
        )
    assert made["request"] != world.known["request_id"]
