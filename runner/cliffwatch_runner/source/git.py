"""Calls git on repositories of our own, or on none. Those of others are read through
`source.named_repository`.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from cliffwatch.trees.addresses import without_credentials
from cliffwatch.trees.git_command import git_argv, nobodys_environment
from cliffwatch_runner import process
from cliffwatch_runner.source.access import Fetching

_FETCHED = ("core.looseCompression=1",)
"""What comes from elsewhere may be zeros without end."""

_AUTHOR = {
    "GIT_AUTHOR_NAME": "Cliffwatch",
    "GIT_AUTHOR_EMAIL": "cliffwatch@localhost",
    "GIT_AUTHOR_DATE": "1970-01-01T00:00:00+0000",
    "GIT_COMMITTER_NAME": "Cliffwatch",
    "GIT_COMMITTER_EMAIL": "cliffwatch@localhost",
    "GIT_COMMITTER_DATE": "1970-01-01T00:00:00+0000",
}
GitReader = Callable[[Sequence[str]], process.Finished]
"""Git on one repository, which it only reads."""

_HOURS = 3600.0
_READABLE = ("sh", "-c", 'umask 022 && exec "$@"', "sh")
_HOLDING = ("sh", "-c", 'trap : TERM; input=$1; shift; "$@" <"$input"; exit $?', "sh")
"""Has a lock as its standard input until git has ended. git itself does not get it: what it leaves running
would hold it on.
"""


def git(
    arguments: Sequence[str],
    *,
    git_dir: Path | None = None,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    fetching: Fetching | None = None,
    readable: bool = False,
    holding: int | None = None,
    on_output: Callable[[str], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
    reading: Path = Path("/dev/null"),
) -> process.Finished:
    """Runs git and returns how it ended. Only a call with a `fetching` reaches out. `on_output` and
    `should_stop` are those of `process.run`.

    `readable`: all users may read what it writes, whatever our own umask is. `holding`: descriptor of a
    lock that stays taken until git has ended, even where this process ends before. `reading`: file that is
    its standard input.
    """
    called = git_argv(arguments, git_dir, (*fetching.settings, *_FETCHED) if fetching is not None else ())
    with ExitStack() as open_files:
        stdin = holding if holding is not None else open_files.enter_context(reading.open("rb")).fileno()
        ended = process.run(
            [
                *((*_HOLDING, str(reading)) if holding is not None else ()),
                *(_READABLE if readable else ()),
                *called,
            ],
            stdin=stdin,
            cwd=cwd,
            env=git_environment(fetching) | dict(env or {}),
            on_output=on_output,
            should_stop=should_stop,
            deadline=2 * _HOURS,
            keep=8 << 20,
        )
    return ended if fetching is None else replace(ended, output=without_credentials(ended.output))


def git_environment(fetching: Fetching | None = None) -> dict[str, str]:
    """All of the environment of a call of git."""
    named = nobodys_environment() if fetching is None else dict(fetching.env)
    return {"PATH": os.environ.get("PATH", os.defpath), **named, **_AUTHOR}
