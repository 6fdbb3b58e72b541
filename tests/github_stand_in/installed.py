"""GitHub's description of itself, as npm has it."""

import shutil
from functools import cache
from pathlib import Path

import pytest
from npm_packages import NotFetchedError, made_of_packages

_KEPT = (
    "openapi/generated/api.github.com.json",
    "webhooks-examples/api.github.com/index.json",
    "webhooks-schemas/schema.json",
)


@cache
def octokit() -> Path:
    """The folder with the packages of @octokit. Without npm, or where it finds no registry, the test is
    skipped.
    """
    try:
        return made_of_packages("github-description", Path(__file__).parent, _keep)
    except NotFetchedError as reason:
        pytest.skip(str(reason))


def _keep(work: Path, made: Path) -> None:
    for name in _KEPT:
        target = made / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(work / "node_modules" / "@octokit" / name, target)
