"""What an installation has the system's own programs do, and in which order; played by a list, as no systemd
runs where tests do.
"""

from collections.abc import Sequence
from pathlib import Path

import pytest
from folder_hosts import Command, files_of

from cliffwatch.failure import Failure
from cliffwatch_runner.command import host as command
from cliffwatch_runner.worker.installation.files import TOKEN, WORKER_UNIT
from cliffwatch_runner.worker.installation.steps import Step, run_steps


@pytest.fixture
def started(root: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, bool]]:
    """The folder plays this host: its commands, each with whether the worker's unit was there then."""
    calls: list[tuple[str, bool]] = []

    def record(steps: Sequence[Step], **_: float) -> None:
        unit = root / WORKER_UNIT.relative_to("/")
        calls.extend((" ".join(step), unit.exists()) for step in steps)

    monkeypatch.setattr(command, "_HERE", root)
    monkeypatch.setattr(command, "hindrances", lambda *_: ())
    monkeypatch.setattr(command, "run_steps", record)
    return calls


def test_files_are_there_before_anything_is_started(
    install: Command, started: list[tuple[str, bool]]
) -> None:
    ended = install()

    assert started == [
        ("systemd-sysusers /etc/sysusers.d/cliffwatch.conf", True),
        ("systemd-tmpfiles --create /etc/tmpfiles.d/cliffwatch.conf", True),
        ("systemctl daemon-reload", True),
        ("systemctl enable cliffwatch-worker.service cliffwatch-doctor.timer", True),
        ("systemctl start cliffwatch-doctor.timer", True),
        ("systemctl restart --no-block cliffwatch-worker.service", True),
    ]
    assert "Started cliffwatch-worker.service" in ended.output


def test_a_worker_is_not_restarted_where_nothing_changed(
    install: Command, started: list[tuple[str, bool]]
) -> None:
    install()
    started.clear()

    install()

    assert started[-1][0] == "systemctl start cliffwatch-worker.service"


def test_the_worker_ends_before_its_files_go(
    install: Command, remove: Command, started: list[tuple[str, bool]], root: Path
) -> None:
    install()
    started.clear()

    assert remove().exit_code == 0

    assert started == [
        ("systemctl disable cliffwatch-doctor.timer cliffwatch-worker.service", True),
        ("systemctl stop cliffwatch-doctor.timer cliffwatch-worker.service cliffwatch-doctor.service", True),
        ("systemctl daemon-reload", False),
    ]
    assert files_of(root) == {}


def test_a_worker_that_cannot_be_stopped_keeps_its_files(
    install: Command,
    remove: Command,
    started: list[tuple[str, bool]],
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    install()
    before = files_of(root)
    refusal = Failure(whose="host", message="`systemctl stop` failed", next_step="look")
    monkeypatch.setattr(command, "run_steps", lambda *_, **__: refusal)

    assert remove().exit_code == 4
    assert files_of(root) == before


def test_a_start_that_fails_says_what_a_running_worker_needs(
    install: Command, started: list[tuple[str, bool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files are in place by then: giving the command again would take them for nothing new."""
    refusal = Failure(whose="host", message="`systemctl daemon-reload` failed", next_step="give it again")
    monkeypatch.setattr(command, "run_steps", lambda *_, **__: refusal)

    ended = install()

    assert ended.exit_code == 4
    assert "then restart it: `systemctl restart --no-block cliffwatch-worker.service`" in ended.output


def test_a_command_that_fails_says_what_it_said(tmp_path: Path) -> None:
    after = tmp_path / "after"

    failed = run_steps([("true",), ("sh", "-c", "echo no such group: kvm; exit 3"), ("touch", str(after))])

    assert failed is not None
    assert failed.whose == "host"
    assert "no such group: kvm" in failed.message
    assert not after.exists()


def test_a_command_that_is_not_installed_says_so() -> None:
    failed = run_steps([("no-such-systemctl",)])

    assert failed is not None
    assert "no-such-systemctl: No such file or directory" in failed.message


def test_a_disk_that_is_full_is_said_and_ends_it(
    install: Command, started: list[tuple[str, bool]], root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)

    ended = install()

    assert ended.exit_code == 4
    assert f"{TOKEN} cannot be read or replaced: No space left on device" in ended.output
    assert started == []
    assert not [path for path in root.rglob("*") if path.is_file()], "half a file is left"
