"""A stand-in with one pull request."""

from collections.abc import Iterator

import pytest
from github_stand_in.server import StandIn, stand_in
from stand_in_client import REPOSITORY, Moment


@pytest.fixture
def moment() -> Moment:
    return Moment()


@pytest.fixture
def github(moment: Moment) -> Iterator[StandIn]:
    with stand_in(lambda: moment.seconds) as running:
        running.kept.repository(REPOSITORY, permissions={"octocat": "write"})
        running.kept.pull(REPOSITORY)
        running.kept.install(REPOSITORY)
        yield running
