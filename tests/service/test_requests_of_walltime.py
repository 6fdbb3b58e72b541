"""Requests that say in how many layouts, and in how much time, walltime is measured."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from asking import asked, offer
from click.testing import CliRunner
from made_documents import made_work
from service_running import Running
from service_runs import commit_of

from cliffwatch.command.main import main
from cliffwatch.failure import Failure
from cliffwatch.formats.setup import Setup
from cliffwatch_runner.command.run import run as run_command
from cliffwatch_runner.worker.asked import run_arguments
from cliffwatch_service.ingest.provenance import trust_of
from cliffwatch_service.store.work import queue

EMULATED = {"platform": "emulated-x86-64", "mode": "icount"}


def post(running: Running, key: str, **wanted: Any) -> Any:
    with running.http("upload") as http:
        return http.post("/api/v1/requests", json=asked(**wanted), headers={"Idempotency-Key": key})


def words_of(mode: str, **setup: Any) -> Sequence[str]:
    words = run_arguments(made_work(mode=mode, setup=Setup(**setup)), Path("/spool"), ())
    assert not isinstance(words, Failure)
    return words


@pytest.mark.parametrize(
    ("setup", "words"),
    [
        ({"layouts": 4, "matched": True}, ["--layouts", "4", "--matched"]),
        ({"layouts": 1}, ["--layouts", "1"]),
        ({"seconds": 1200}, ["--time", "1200s"]),
        ({"seconds": 90.5, "layouts": 1}, ["--layouts", "1", "--time", "90s"]),
    ],
)
def test_a_worker_gives_them_to_its_walltime_run_and_leaves_them_out_of_icount(
    setup: dict[str, Any], words: list[str]
) -> None:
    given = words_of("walltime", **setup)
    assert list(given[-len(words) :]) == words
    assert {word for word in words if word.startswith("--")} <= {
        option for parameter in run_command.params for option in parameter.opts
    }
    assert words_of("icount", **setup) == given[: -len(words)]


def test_they_reach_the_host_and_are_shown_and_the_code_stays_the_branchs(running: Running) -> None:
    offer(running, setups=True)
    made = (
        post(running, "one", setup={"layouts": 4, "matched": True}, boots="careful").raise_for_status().json()
    )
    work = offer(running, setups=True)
    timed = post(running, "two", setup={"seconds": 1200}).raise_for_status().json()

    assert (work["setup"], work["boots"]) == ({"layouts": 4, "matched": True}, "careful")
    with running.http(None) as http:
        page = " ".join(http.get(f"/requests/{made['request']}").raise_for_status().text.split())
        other = " ".join(http.get(f"/requests/{timed['request']}").raise_for_status().text.split())
    assert "<dt>layouts</dt><dd>4 of each kernel, changes also in layouts matched to base's" in page
    assert "<dt>time</dt><dd>20 min for boots and links, in walltime</dd>" in other
    running.follow("https://git.example.org/bpf-next.git", "master", [commit_of("base"), commit_of("head")])
    with running.service.transaction() as connection:
        job = queue.job_row(connection, made["jobs"][0]["job"])
        assert job is not None
        assert trust_of(connection, job) == "followed"


def test_the_same_key_for_another_time_is_another_request(running: Running) -> None:
    offer(running, setups=True)
    post(running, "one", setup={"seconds": 1200}).raise_for_status()
    assert post(running, "one", setup={"seconds": 1200}).status_code == 200
    assert post(running, "one", setup={"seconds": 1800}).status_code == 409


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        ({"setup": {"layouts": 0}}, "setup.layouts"),
        ({"setup": {"layouts": 101}}, "setup.layouts"),
        ({"setup": {"seconds": 0.1}}, "setup.seconds"),
        ({"setup": {"seconds": 1e9}}, "setup.seconds"),
        ({"setup": {"layouts": 1, "matched": True}}, "there is none to match"),
        ({"setup": {"seconds": 60, "layouts": 4}}, "a time chooses the layouts itself"),
        ({"setup": {"seconds": 60, "matched": True}}, "has no matched ones"),
        ({"setup": {"seconds": 60}, "boots": "10"}, "boots: a time chooses the number of boots"),
        ({"setup": {"matched": True}, "boots": "10"}, "ask for staged or careful boots"),
        ({"setup": {"layouts": 4}, "boots": "3"}, "4 layouts cannot share 3 boots of each kernel"),
        ({"setup": {"layouts": 11}}, "setup: 11 layouts cannot share 10 boots of each kernel"),
        ({"setup": {"layouts": 22}, "boots": "careful"}, "22 layouts cannot share 21 boots of each kernel"),
        (
            {"setup": {"layouts": 4, "seconds": None}, "targets": [EMULATED]},
            "layouts: only for walltime, and no target is in walltime",
        ),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_stored(
    running: Running, wanted: dict[str, Any], says: str
) -> None:
    offer(running, setups=True)
    refused = post(running, "wrong", **wanted)
    assert refused.status_code == 422, refused.text
    assert says in refused.json()["detail"]
    assert running.rows("SELECT id FROM request") == []


def submit(running: Running, tmp_path: Path, *words: str) -> Any:
    token = tmp_path / "token"
    token.write_text(running.tokens["upload"])
    token.chmod(0o600)
    ends = ["--base", commit_of("base"), "--head", commit_of("head")]
    options = ["--url", running.url, "--token-file", str(token), "--tree", asked()["tree"], *ends]
    return CliRunner().invoke(main, ["submit", *options, "--on", "amd-rome:walltime", "--detach", *words])


def test_they_are_asked_for_on_the_command_line(running: Running, tmp_path: Path) -> None:
    offer(running, setups=True)
    ended = submit(running, tmp_path, "--time", "20m")
    assert ended.exit_code == 0, ended.output
    ended = submit(running, tmp_path, "--layouts", "4", "--matched", "--boots", "careful")
    assert ended.exit_code == 0, ended.output
    rows = running.rows("SELECT setup FROM request ORDER BY created")
    assert [row["setup"] for row in rows] == [{"seconds": 1200.0}, {"layouts": 4, "matched": True}]

    refused = submit(running, tmp_path, "--time", "20m", "--boots", "4")
    assert refused.exit_code == 2, json.dumps(refused.output)
    assert "leave out the time, or ask for auto" in refused.output
