"""The whole way on this machine: act runs benchmark.yml for a pull request, its artifact goes to GitHub
(played), and act runs publish.yml for the workflow's end: one comment, a check run, and a run of a service
over HTTP.
"""

import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any

from acting import ROOT, act, acted, put_program
from github_stand_in.server import StandIn
from service_running import Running
from toy import change

STAND_IN_GUEST = ROOT / "tests/service/stand_in_command.py"
ARTIFACT = "cliffwatch-emulated-x86-64-icount"
REPOSITORY = {
    "full_name": "kernel/linux",
    "default_branch": "master",
    "name": "linux",
    "owner": {"login": "kernel"},
}


def caller(service: str) -> str:
    """The example's caller with its two last lines in use."""
    text = (ROOT / "examples/github/publish.yml").read_text()
    assert "    # with: " in text
    return text.replace("    # ", "    ").replace("https://bench.example.org", service)


def packed(folder: Path) -> bytes:
    content = BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for file in sorted(folder.rglob("*")):
            if file.is_file() and not file.name.startswith("."):
                archive.write(file, file.relative_to(folder))
    return content.getvalue()


def pull_request(base: str, head: str) -> dict[str, Any]:
    sides = {"base": (base, "master"), "head": (head, "topic")}
    return {
        "number": 1,
        "pull_request": {
            "number": 1,
            "body": "",
            **{
                side: {"sha": sha, "ref": ref, "repo": {"full_name": "kernel/linux"}}
                for side, (sha, ref) in sides.items()
            },
        },
        "repository": REPOSITORY,
    }


def test_a_pull_request_is_measured_told_and_kept(
    github: StandIn, service: Running, repository: Path, tmp_path: Path
) -> None:
    base = change(repository, ".cliffwatch.toml", 'suites = ["local-storage"]\n', "Say what is measured")
    head = change(repository, "behaviour", "slow\n", "bpf: Make it slow")
    measured = act(repository, "pull_request", pull_request(base, head), tmp_path, STAND_IN_GUEST)
    assert measured.status == 0, measured.log

    kept = github.kept.repository("kernel/linux")
    kept.commit(base, "Linux 6.12", files={"Makefile": "VERSION = 6\n"})
    kept.commit(head, "bpf: slow", base, files={"behaviour": "slow\n"})
    github.kept.pull("kernel/linux", base=base, head=head)
    kept.artifacts[1] = (6_000, ARTIFACT, packed(measured.artifacts / ARTIFACT))
    run = {
        "id": 6_000,
        "run_attempt": 1,
        "event": "pull_request",
        "conclusion": "success",
        "head_sha": head,
        "head_branch": "topic",
        "head_repository": {"full_name": "kernel/linux"},
    }
    put_program(tmp_path, ROOT / "tests/workflows/real_command.py", GITHUB_API_URL=github.url)
    secrets = {
        "GITHUB_TOKEN": github.kept.token("github-actions[bot]"),
        "CLIFFWATCH_TOKEN": service.tokens["upload"],
    }
    words = [word for name, value in secrets.items() for word in ("--secret", f"{name}={value}")]
    event = {"action": "completed", "workflow_run": run, "repository": REPOSITORY}

    told = acted(repository, caller(service.url), "workflow_run", event, tmp_path, *words, net=True)

    assert told.status == 0, told.log
    (comment,) = kept.comments.values()
    assert (comment.number, comment.login) == (1, "github-actions[bot]")
    assert "5 slower" in comment.body
    assert [check.head for check in kept.checks.values()] == [head]
    (uploaded,) = service.get("/runs", "read")["items"]
    assert uploaded["host"] == "github:kernel/linux"
    assert all(secret not in told.log for secret in secrets.values())
