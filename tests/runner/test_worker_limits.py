"""A job has a scope of systemd's where there is one for the user that it runs as."""

import shutil
from pathlib import Path

import pytest

from cliffwatch_runner.worker import limits


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A host that runs systemd."""
    (tmp_path / "run/systemd/system").mkdir(parents=True)
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    return tmp_path


def test_without_systemd_there_is_no_scope(tmp_path: Path) -> None:
    assert limits._scope(tmp_path, 0) is None


def test_roots_jobs_have_a_scope_of_the_system(host: Path) -> None:
    assert limits._scope(host, 0) == ["systemd-run", "--scope", "--quiet", "--collect"]


def test_a_users_jobs_have_one_of_his_own_systemd_and_reach_it_with_an_empty_environment(host: Path) -> None:
    (host / "run/user/1000").mkdir(parents=True)
    (host / "run/user/1000/bus").touch()
    scope = limits._scope(host, 1000)

    assert scope is not None
    assert scope[:3] == ["env", "XDG_RUNTIME_DIR=/run/user/1000", "systemd-run"]
    assert scope[-1] == "--user"


def test_a_user_without_a_systemd_of_his_own_has_no_scope(host: Path) -> None:
    """A system user, for whom nobody ever logged in."""
    assert limits._scope(host, 999) is None
