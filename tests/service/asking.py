"""Requests, offers and the state of jobs over HTTP."""

from typing import Any

from service_running import Running
from service_runs import commit_of

TREE = "https://git.example.org/bpf-next.git"


def asked(**other: Any) -> dict[str, Any]:
    return {
        "tree": TREE,
        "base": commit_of("base"),
        "head": commit_of("head"),
        "targets": [{"platform": "amd-rome", "mode": "walltime"}],
        "suites": ["local-storage"],
        **other,
    }


def ask(running: Running, key: str = "one", **other: Any) -> Any:
    for target in asked(**other)["targets"]:
        running.enrol(target["platform"])
    with running.http("upload") as http:
        answer = http.post("/api/v1/requests", json=asked(**other), headers={"Idempotency-Key": key})
        return answer.raise_for_status().json()


def offer(running: Running, host: str = "rome-1", platform: str = "amd-rome", **other: Any) -> Any:
    body = {
        "host": host,
        "platform": platform,
        "modes": ["walltime", "icount"],
        "isolation": "bubblewrap",
        **other,
    }
    with running.http("work") as http:
        answer = http.post("/api/v1/offers", json=body)
        return answer.raise_for_status().json() if answer.status_code != 204 else None


def job_state(running: Running, job: str) -> str:
    return str(running.get(f"/jobs/{job}")["state"])
