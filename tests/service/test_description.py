"""The API's description: every address is in it with what it answers, and what is answered fits."""

from pathlib import Path
from typing import Any

import jsonschema
import pytest
from asking import ask, offer
from service_running import Running
from service_runs import commit_of, run_of

from cliffwatch_runner.upload.result_directory import upload_run


def described(running: Running) -> Any:
    return running.get("/openapi.json")


def test_every_answer_is_described(running: Running) -> None:
    bare = [
        f"{method} {path}"
        for path, methods in described(running)["paths"].items()
        for method, operation in methods.items()
        if path.startswith("/api/")
        if not any(
            content.get("schema", {}).get("$ref") or not kind.startswith("application/json")
            for code, answer in operation["responses"].items()
            if code.startswith("2")
            for kind, content in answer.get("content", {}).items()
        )
    ]
    assert not bare


@pytest.fixture
def filled(running: Running, data: Path) -> Any:
    """A service with something at every address."""
    running.follow("https://git.example.org/bpf-next.git", "master", [commit_of("base"), commit_of("head")])
    running.measure(run_of(boots=8, cases=6, shift=0.1))
    upload_run(running.client("upload"), data / "runs/uninlined", "emulator-1")
    running.do_tasks()
    return running


def test_what_is_answered_fits_its_description(filled: Any, data: Path) -> None:
    made = ask(filled)
    lease = offer(filled, "rome-2")["lease"]
    run = run_of(boots=8, cases=6, shift=0.1).digest
    real = next(row["run"] for row in filled.get("/runs")["items"] if row["run"] != run)
    series = filled.get("/series")["items"][0]["series"]
    report = filled.get("/reports")["items"][0]["report"]
    job = made["jobs"][0]["job"]
    pair = f"{commit_of('base')}...{commit_of('head')}"
    known = {
        "run": run,
        "digest": series,
        "report": report,
        "job": job,
        "request_id": made["request"],
        "pair": pair,
        "commit": commit_of("head"),
        "name": "local-storage",
        "number": "1",
        "lease": lease,
        "host": "rome-2",
    }
    description = described(filled)
    looked = 0
    for path, methods in description["paths"].items():
        if (
            "get" not in methods
            or path.endswith(("/stream", "{path}", "/export", "/feed"))
            or not path.startswith("/api/")
        ):
            continue
        address = path.format(**{**known, "run": real} if path.endswith(("/raw", "/code")) else known)
        with filled.http("admin") as http:
            needed = {"/samples": "revision", "/answer": "commit", "/search": "q"}.get(
                path[path.rindex("/") :]
            )
            answer = http.get(address, params={needed: commit_of("head")} if needed else {})
        assert answer.status_code == 200, (path, answer.text)
        schema = methods["get"]["responses"]["200"]["content"]["application/json"]["schema"]
        if schema:
            jsonschema.validate(answer.json(), {**schema, "components": description["components"]})
            looked += 1
    assert looked >= 25
