"""The doctor that a timer starts leaves a host alone on which a run measures."""

from datetime import UTC, datetime

import pytest
from click.testing import CliRunner

from cliffwatch.command.main import main
from cliffwatch_runner.command import doctor
from cliffwatch_runner.host.lock import Holder, LockState


def test_nothing_is_looked_at_while_a_run_holds_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    holder = Holder(pid=1, since=datetime(2026, 11, 1, tzinfo=UTC), what="walltime run of 1a2b..3c4d")
    monkeypatch.setattr(doctor, "lock_state", lambda: LockState(locked=True, holders=(holder,)))
    monkeypatch.setattr(doctor, "gather_facts", lambda _: pytest.fail("the host was looked at"))

    ended = CliRunner().invoke(main, ["doctor", "--unless-measuring"], catch_exceptions=False)

    assert ended.exit_code == 0
    assert "Nothing was checked: this host is in use by walltime run of 1a2b..3c4d" in ended.output


def test_an_idle_host_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[object] = []
    monkeypatch.setattr(doctor, "lock_state", lambda: LockState(locked=False, holders=()))
    monkeypatch.setattr(
        doctor, "gather_facts", lambda cache: looked.append(cache) or pytest.skip("far enough")
    )

    with pytest.raises(pytest.skip.Exception):
        CliRunner().invoke(main, ["doctor", "--unless-measuring"], catch_exceptions=False)
    assert looked
