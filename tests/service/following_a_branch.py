"""A branch that is followed from where it is now, and looked at."""

from pathlib import Path
from typing import Any

from service_running import Running

from cliffwatch_service.history.follow import poll

EMULATED = [{"platform": "emulated-x86-64", "mode": "icount"}]


def walltime(*platforms: str) -> list[dict[str, str]]:
    return [{"platform": platform, "mode": "walltime"} for platform in platforms]


def follow(running: Running, url: str, tmp_path: Path, targets: Any = EMULATED, policy: str = "push") -> int:
    """The number of the entry."""
    body = {
        "tree": url,
        "branch": "master",
        "policy": policy,
        "targets": targets,
        "suites": ["local-storage"],
    }
    with running.http("admin") as http:
        number = int(http.post("/api/v1/follows", json=body).raise_for_status().json()["follow"])
    look(running, number, tmp_path)
    return number


def look(running: Running, number: int, tmp_path: Path) -> None:
    with running.service.transaction() as connection:
        poll(connection, number, tmp_path / "git", running.clock.now())
