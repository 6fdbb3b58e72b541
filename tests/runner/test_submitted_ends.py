"""Revisions of a request: names become commits before the request goes to a service."""

import re
from pathlib import Path

import pytest
from toy import git

from cliffwatch.failure import Exit
from cliffwatch_runner.command.sending.ends import resolve_commit


def test_a_name_becomes_the_commit_that_the_repository_has_there(repository: Path) -> None:
    address = repository.absolute().as_uri()

    assert resolve_commit(address, "master") == git(repository, "rev-parse", "master")
    assert resolve_commit(address, "v6.12") == git(repository, "rev-parse", "v6.12^{commit}")


@pytest.mark.parametrize(
    ("tree", "said", "code"),
    [
        ("there", r"has no 'nosuch'", Exit.USAGE),
        ("not-there", r"the branches of file://.*not-there cannot be listed", Exit.HOST_FAILED),
    ],
)
def test_a_repository_that_cannot_be_reached_is_not_one_without_the_branch(
    repository: Path, capsys: pytest.CaptureFixture[str], tree: str, said: str, code: Exit
) -> None:
    address = (repository if tree == "there" else repository.parent / tree).absolute().as_uri()

    with pytest.raises(SystemExit) as ended:
        resolve_commit(address, "nosuch")

    assert ended.value.code == code
    assert re.search(said, capsys.readouterr().err)
