"""A job waits as long as GitHub asks for, and asks again."""

from contextlib import closing
from datetime import UTC, datetime

import pytest
from github_stand_in.faults import Fault
from github_stand_in.kept import Pull, Repository
from github_stand_in.server import StandIn

from cliffwatch_runner import clock
from cliffwatch_runner.ci.github_api import GitHubReader


def test_limits_are_waited_for_as_github_says(
    github: StandIn, tree: Repository, pull: Pull, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also the limit of an hour, whose end stands in another header."""
    monkeypatch.setattr(clock, "now", lambda: datetime.fromtimestamp(github.kept.now(), UTC))
    github.faults.next(
        "pulls/list", Fault("secondary", 7), Fault("too-many", 11), Fault("primary", 90), Fault("502")
    )
    waits: list[float] = []
    token = github.kept.token("github-actions[bot]")
    with closing(GitHubReader(github.url, token, tree.name, sleep=waits.append)) as reader:
        found = reader.pages("/pulls")

    assert [each["number"] for each in found] == [pull.number]  # type: ignore[union-attr]
    assert waits == [7, 11, 90, 8]
