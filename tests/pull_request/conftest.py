"""A stand-in with one pull request."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from github_stand_in.server import StandIn, stand_in
from speaking import REPOSITORY, Moment


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
