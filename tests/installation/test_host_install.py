"""`cliffwatch host install` and `remove`, on a host that is a folder."""

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from folder_hosts import SECRET, Command, files_of
from golden import assert_golden
from ordinary_user import as_ordinary_user

from cliffwatch_runner.host.tuning_rights import helper_allowed, lines_to_allow
from cliffwatch_runner.worker.installation import readiness
from cliffwatch_runner.worker.installation.files import (
    CACHE,
    PATHS,
    SPOOL,
    STATE,
    SUDOERS,
    TOKEN,
    WORKER_UNIT,
    wanted_files,
)
from cliffwatch_runner.worker.installation.order import InstallationOrder
from cliffwatch_runner.worker.installation.readiness import hindrances


def test_every_file_has_its_place_and_its_mode(install: Command, root: Path) -> None:
    ended = install()

    assert ended.exit_code == 0, ended.output
    modes = {path: mode for path, (mode, _) in files_of(root).items()}
    assert modes == {
        "/etc/sudoers.d/cliffwatch-worker": 0o440,
        "/etc/systemd/system/cliffwatch-doctor.service": 0o644,
        "/etc/systemd/system/cliffwatch-doctor.timer": 0o644,
        "/etc/systemd/system/cliffwatch-worker.service": 0o644,
        "/etc/sysusers.d/cliffwatch.conf": 0o644,
        "/etc/tmpfiles.d/cliffwatch.conf": 0o644,
        "/usr/local/sbin/cliffwatch-tune": 0o755,
        "/var/lib/cliffwatch/worker.token": 0o600,
    }
    assert set(modes) == {str(path) for path in PATHS}
    assert files_of(root)["/var/lib/cliffwatch/worker.token"][1] == f"{SECRET}\n".encode()


def test_a_host_of_icount_runs_has_nothing_of_roots(install: Command, root: Path) -> None:
    assert install(mode="icount", platform="emulated-x86-64").exit_code == 0

    assert not {"/etc/sudoers.d/cliffwatch-worker", "/usr/local/sbin/cliffwatch-tune"} & set(files_of(root))


@pytest.mark.parametrize("mode", ["icount", "walltime"])
def test_a_dry_run_shows_everything_and_writes_nothing(
    install: Command, root: Path, token: Path, mode: str
) -> None:
    ended = install("--dry-run", mode=mode)

    assert ended.exit_code == 0
    assert SECRET not in ended.output
    assert list(root.iterdir()) == []
    shown = ended.output.replace(str(token), "TOKEN-FILE").replace(str(root), "DIR")
    assert_golden(f"host-install-{mode}.txt", shown)


def test_the_second_time_changes_nothing_and_says_so(install: Command, root: Path) -> None:
    install()
    before = _state(root)

    ended = install()

    assert ended.exit_code == 0
    assert "Nothing changed: the installation is up to date." in ended.output
    assert _state(root) == before


def _state(root: Path) -> dict[Path, tuple[int, ...]]:
    """What changes where something is written: reading a folder moves its time of access on some file
    systems.
    """
    found = {path: path.stat() for path in root.rglob("*")}
    return {
        path: (at.st_ino, at.st_mode, at.st_uid, at.st_gid, at.st_size, at.st_mtime_ns)
        for path, at in found.items()
    }


def test_another_option_changes_its_lines_and_shows_them(install: Command, root: Path) -> None:
    install()
    before = files_of(root)

    ended = install(url="https://other.example.org")

    changed = {path for path, file in files_of(root).items() if before[path] != file}
    assert changed == {str(WORKER_UNIT)}
    lines = ended.output.splitlines()
    assert lines[0] == f"changed  {WORKER_UNIT}  mode 0644"
    assert [line[:14] for line in lines[1:3]] == ["    -ExecStart", "    +ExecStart"]
    assert "https://bench.example.org" in lines[1]
    assert "https://other.example.org" in lines[2]


def test_another_token_is_put_in_place_and_not_shown(install: Command, root: Path, token: Path) -> None:
    install()
    token.write_text("cw_anothersecret\n")

    ended = install()

    assert ended.output.splitlines()[:2] == [f"changed  {TOKEN}  mode 0600", "    another token"]
    assert "cw_anothersecret" not in ended.output
    assert (root / TOKEN.relative_to("/")).read_text() == "cw_anothersecret\n"


def test_a_mode_that_somebody_changed_is_put_right(install: Command, root: Path) -> None:
    install()
    (root / TOKEN.relative_to("/")).chmod(0o644)

    ended = install()

    assert ended.output.splitlines()[:2] == [f"changed  {TOKEN}  mode 0600", "    mode 0644, now 0600"]
    assert stat.S_IMODE((root / TOKEN.relative_to("/")).stat().st_mode) == 0o600


def test_without_walltime_runs_the_way_to_root_is_taken_back(install: Command, root: Path) -> None:
    install()

    ended = install(mode="icount")

    assert f"removed  {SUDOERS}" in ended.output
    assert str(SUDOERS) not in files_of(root)


def test_removing_leaves_nothing_but_results(install: Command, remove: Command, root: Path) -> None:
    install()
    for job in ("delivered-one", "waiting-one"):
        (root / SPOOL.relative_to("/") / "jobs" / job).mkdir(parents=True)
    (root / SPOOL.relative_to("/") / "jobs/delivered-one/delivered").touch()
    (root / CACHE.relative_to("/") / "kernels").mkdir(parents=True)

    ended = remove()

    assert ended.exit_code == 0
    assert f"{STATE} stays, with the results of its jobs, 1 of which the service may not have" in ended.output
    assert list(files_of(root)) == ["/var/lib/cliffwatch-worker/spool/jobs/delivered-one/delivered"]
    assert not (root / CACHE.relative_to("/")).exists()

    assert remove("--purge").exit_code == 0
    assert files_of(root) == {}
    assert not (root / STATE.relative_to("/")).exists()
    assert not (root / TOKEN.parent.relative_to("/")).exists()


def test_removing_twice_is_no_error(install: Command, remove: Command) -> None:
    install()
    remove()

    ended = remove()

    assert (ended.exit_code, ended.output) == (0, "There is no installation here to remove.\n")


def test_a_dry_run_of_removing_removes_nothing(install: Command, remove: Command, root: Path) -> None:
    install()
    before = files_of(root)

    ended = remove("--dry-run")

    assert ended.exit_code == 0
    assert f"would remove {WORKER_UNIT}" in ended.output
    assert (
        "systemctl stop cliffwatch-doctor.timer cliffwatch-worker.service cliffwatch-doctor.service"
        in ended.output
    )
    assert files_of(root) == before


def test_a_helper_that_another_user_may_start_stays(install: Command, remove: Command, root: Path) -> None:
    install()
    (root / "etc/sudoers.d/cliffwatch-tune").write_text(
        'bench ALL=(root) NOPASSWD: /usr/local/sbin/cliffwatch-tune ""\n'
    )

    ended = remove()

    assert "/usr/local/sbin/cliffwatch-tune stays" in ended.output
    assert set(files_of(root)) == {"/etc/sudoers.d/cliffwatch-tune", "/usr/local/sbin/cliffwatch-tune"}


def test_what_a_killed_run_left_tuned_is_said(install: Command, remove: Command, root: Path) -> None:
    install()
    (root / "var/lib/cliffwatch/host-tuning.json").write_text("{}")

    assert "`cliffwatch doctor --restore` undoes that" in remove().output
    assert set(files_of(root)) == {"/var/lib/cliffwatch/host-tuning.json"}


def test_the_rule_lets_the_workers_user_start_the_helper_alone(install: Command, root: Path) -> None:
    """As docs/host.md's rule for a user by hand does."""
    install()
    rule = (root / SUDOERS.relative_to("/")).read_text().splitlines()[-1]

    assert rule in lines_to_allow("cliffwatch")[1]


def test_the_helper_that_is_installed_is_the_one_that_the_doctor_writes(
    install: Command, root: Path, tmp_path: Path
) -> None:
    install()
    subprocess.run(
        [sys.executable, "-m", "cliffwatch.command", "doctor", "--tuning-helper", str(tmp_path / "helper")],
        check=True,
    )

    assert (root / "usr/local/sbin/cliffwatch-tune").read_bytes() == (tmp_path / "helper").read_bytes()


def test_an_ordinary_user_installs_into_a_folder_of_his(root: Path, token: Path) -> None:
    words = [
        "--url",
        "http://10.0.0.5:8000",
        "--platform",
        "amd-rome",
        "--mode",
        "walltime",
        "--token-file",
        str(token),
    ]
    words += ["--name", "rome-1", "--program", "/opt/cliffwatch/bin/cliffwatch", "--root", str(root)]
    argv = as_ordinary_user([sys.executable, "-m", "cliffwatch.command", "host", "install", *words])

    ended = subprocess.run(argv, capture_output=True, text=True, check=False)

    assert ended.returncode == 0, ended.stderr
    assert set(files_of(root)) == {str(path) for path in PATHS}


@pytest.fixture
def order() -> InstallationOrder:
    return InstallationOrder(
        url="https://bench.example.org",
        platform="amd-rome",
        modes=("walltime",),
        name="rome-1",
        token=SECRET,
        program=Path("/usr/bin/true"),
        hours=8.0,
    )


def test_where_a_host_does_not_fit_each_reason_is_given(
    order: InstallationOrder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.setattr(Path, "is_dir", lambda _: False)

    found = list(hindrances(order, Path("/")))

    assert [(failure.whose, failure.message) for failure in found] == [
        ("usage", "only root can change units, users and permissions"),
        ("host", "this host does not run systemd"),
        ("host", "walltime runs start the tuning helper with sudo, which is not installed"),
    ]
    assert all(failure.next_step for failure in found)


def test_a_program_that_the_workers_user_does_not_get_to_is_refused(
    order: InstallationOrder, tmp_path: Path
) -> None:
    closed = tmp_path / "closed"
    closed.mkdir()
    (closed / "cliffwatch").write_text("#!/bin/sh\n")
    closed.chmod(0o700)

    found = list(readiness._program(closed / "cliffwatch"))

    assert len(found) == 1
    assert "is closed to it" in found[0].message
    assert order.tunes


def test_an_order_says_all_that_its_files_hold(order: InstallationOrder) -> None:
    assert wanted_files(order) == wanted_files(order), "the same order makes the same bytes"
    assert not helper_allowed() or SUDOERS.exists()
