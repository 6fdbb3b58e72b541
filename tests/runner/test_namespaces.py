"""Whether a tree's code can be kept in is asked as builds are started, and a refusal says why
and what to do.
"""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner, Result

from cliffwatch.command.main import main
from cliffwatch_runner.command import worker as command
from cliffwatch_runner.doctor.build import isolation
from cliffwatch_runner.sandbox import namespaces
from cliffwatch_runner.sandbox.namespaces import (
    NOT_INSTALLED,
    NamespaceRefusal,
    bubblewrap_refusal,
    explain_refusal,
)
from cliffwatch_runner.sandbox.unprivileged_user import User, find_closed_folder

NOBODY = 64750
PROFILE = "sudo apparmor_parser -r /etc/apparmor.d/bwrap"
UID_MAP = "bwrap: setting up uid map: Permission denied"
"""What bubblewrap says on Ubuntu 24.04."""

AS_A_WORKER = """
import sys
from pathlib import Path
from cliffwatch_runner import process
from cliffwatch_runner.sandbox.isolation import choose_guest_sandbox, choose_sandbox
from cliffwatch_runner.sandbox.namespaces import bubblewrap_refusal
from cliffwatch.command.secret import shut_memory
shut_memory()
print("refusal:", bubblewrap_refusal())
for sandbox in (choose_sandbox("auto", None), choose_guest_sandbox("auto")):
    argv = sandbox.argv(["sh", "-c", sys.argv[1]], env={"PATH": "/usr/bin:/bin"}, mounts=(), workdir=Path("/"))
    print(process.run(argv, deadline=600, env=sandbox.process_input()).output.strip())
"""


def as_a_user(*words: str) -> "subprocess.CompletedProcess[str]":
    """Python as an ordinary user; root becomes one."""
    become = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--bounding-set=-all"]
    prefix = [*become, "--inh-caps=-all"] if os.geteuid() == 0 else []
    if (
        prefix
        and find_closed_folder(User(uid=NOBODY, gid=NOBODY), Path(sys.executable).resolve()) is not None
    ):
        pytest.skip("root keeps Cliffwatch where no other user gets to")
    return subprocess.run(
        [*prefix, sys.executable, "-P", "-c", *words], capture_output=True, text=True, check=False, cwd="/"
    )


@pytest.mark.namespaces
def test_an_ordinary_users_worker_makes_sandboxes_after_it_has_closed_its_memory() -> None:
    """Each has the whole filter of system calls, and no command reads it."""
    ended = as_a_user(AS_A_WORKER, "wc -c; unshare --user true 2>&1")

    assert ended.returncode == 0, ended.stderr
    each = ["0", "unshare: unshare failed: Operation not permitted"]
    assert ended.stdout.splitlines() == ["refusal: None", *each, *each]


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The first folder of PATH."""
    folder = tmp_path / "programs"
    folder.mkdir(mode=0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setattr(namespaces, "unprivileged_user", lambda: None)
    return folder


def bubblewrap_that_says(folder: Path, words: str) -> None:
    program = folder / "bwrap"
    program.write_text(f"#!/bin/sh\necho '{words}' >&2\nexit 1\n")
    program.chmod(0o755)


def host_with(folder: Path, setting: str, value: str) -> Path:
    file = folder / "proc/sys" / setting
    file.parent.mkdir(parents=True)
    file.write_text(f"{value}\n")
    return folder


def test_apparmors_refusal_is_told_from_others_with_the_profile_that_helps(
    programs: Path, tmp_path: Path
) -> None:
    bubblewrap_that_says(programs, UID_MAP)
    ubuntu = host_with(tmp_path / "ubuntu", "kernel/apparmor_restrict_unprivileged_userns", "1")
    other = host_with(tmp_path / "other", "kernel/apparmor_restrict_unprivileged_userns", "0")

    refused, unknown = bubblewrap_refusal(ubuntu), bubblewrap_refusal(other)

    assert refused is not None
    assert unknown is not None
    assert refused.message.startswith(
        "AppArmor, as in Ubuntu since 23.10, (kernel.apparmor_restrict_unprivileged_userns=1)"
    )
    assert refused.message.endswith(UID_MAP)
    assert PROFILE in refused.failure().next_step
    assert unknown.message == f"this host lets bubblewrap make no namespaces: {UID_MAP}"
    assert "--cap-add SYS_ADMIN" in unknown.failure().next_step


def test_what_a_unit_or_a_container_lays_over_proc_is_named() -> None:
    refused = explain_refusal("bwrap: Can't mount proc on /newroot/proc: Operation not permitted", {})

    assert refused.message.startswith("a part of /proc is covered here")
    assert "ProtectKernelTunables=" in refused.otherwise


def test_each_time_the_host_is_asked_as_it_is_then(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker asks before each job, for years."""
    bubblewrap_that_says(programs, UID_MAP)
    first = bubblewrap_refusal()
    bubblewrap_that_says(programs, "bwrap: another")
    second = bubblewrap_refusal()
    monkeypatch.setenv("PATH", "/nowhere")

    assert first is not None
    assert second is not None
    assert (first.message.endswith(UID_MAP), second.message.endswith("bwrap: another")) == (True, True)
    assert bubblewrap_refusal() == NOT_INSTALLED


REFUSALS = [
    NOT_INSTALLED,
    explain_refusal("bwrap: No permissions to create new namespace", {}),
    explain_refusal(
        "bwrap: No permissions to create new namespace", {"kernel/unprivileged_userns_clone": "0"}
    ),
    explain_refusal("bwrap: Creating new namespace failed", {"user/max_user_namespaces": "0"}),
    explain_refusal(UID_MAP, {"kernel/apparmor_restrict_unprivileged_userns": "1"}),
    explain_refusal("bwrap: Can't mount proc on /newroot/proc: Operation not permitted", {}),
]


def test_every_refusal_has_words_and_a_next_step_of_its_own() -> None:
    assert len({refusal.message for refusal in REFUSALS}) == len(REFUSALS)
    assert len({refusal.failure().next_step for refusal in REFUSALS}) == len(REFUSALS)


@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda refusal: refusal.message[:20])
def test_worker_and_doctor_say_the_same(
    refusal: NamespaceRefusal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "bubblewrap_refusal", lambda: refusal)

    ended = start_worker(tmp_path, monkeypatch, mode=0o600)

    assert ended.exit_code == 4
    message, step = ended.stderr.splitlines()
    assert message == f"cliffwatch: {refusal.message}"
    assert "--isolation none" not in step, "a worker builds what strangers ask for"
    check = isolation(SimpleNamespace(refusal=refusal, unseen=None))  # type: ignore[arg-type]
    assert (check.status, check.finding) == ("fail", refusal.message)
    assert check.fixes[0] in step


def test_a_token_that_others_can_read_is_refused_before_anything_is_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = start_worker(tmp_path, monkeypatch, mode=0o640)

    assert ended.exit_code == 2
    assert ended.stderr == f"cliffwatch: others can read {tmp_path}/token\n  chmod 600 {tmp_path}/token\n"


def start_worker(folder: Path, monkeypatch: pytest.MonkeyPatch, mode: int) -> Result:
    monkeypatch.setattr(command, "shut_memory", lambda: None)  # it is this process's, with all tests in it
    token = folder / "token"
    token.write_text("cliffwatch_secret\n")
    token.chmod(mode)
    words = [
        "--url",
        "http://127.0.0.1:9",
        "--platform",
        "emulated-x86-64",
        "--mode",
        "icount",
        "--token-file",
        str(token),
    ]
    return CliRunner().invoke(main, ["worker", *words, "--cache", str(folder / "cache")])
