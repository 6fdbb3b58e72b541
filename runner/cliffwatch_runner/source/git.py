"""Runs git on our own repositories or on none. `source.named_repository` reads repositories of others."""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from cliffwatch.trees.addresses import without_credentials
from cliffwatch.trees.git_command import git_argv, isolated_environment
from cliffwatch_runner import process
from cliffwatch_runner.source.access import FetchPlan

_FETCHED = ("core.looseCompression=1",)
"""Compress loose objects: fetched content may be endless zeros."""

_AUTHOR = {
    "GIT_AUTHOR_NAME": "Cliffwatch",
    "GIT_AUTHOR_EMAIL": "cliffwatch@localhost",
    "GIT_AUTHOR_DATE": "1970-01-01T00:00:00+0000",
    "GIT_COMMITTER_NAME": "Cliffwatch",
    "GIT_COMMITTER_EMAIL": "cliffwatch@localhost",
    "GIT_COMMITTER_DATE": "1970-01-01T00:00:00+0000",
}
GitReader = Callable[[Sequence[str]], process.Finished]
"""Runs read-only git commands on one repository."""

_HOURS = 3600.0
_READABLE = ("sh", "-c", 'umask 022 && exec "$@"', "sh")
_HOLDING = ("sh", "-c", 'trap : TERM; input=$1; shift; "$@" <"$input"; exit $?', "sh")
"""Keeps a lock as its standard input until git has ended.

git itself does not inherit the lock: a process that git leaves running would keep it.
"""


def git(
    arguments: Sequence[str],
    *,
    git_dir: Path | None = None,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    fetching: FetchPlan | None = None,
    readable: bool = False,
    holding: int | None = None,
    on_output: Callable[[str], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
    reading: Path = Path("/dev/null"),
) -> process.Finished:
    """Runs git and returns how it ended. Only a call with `fetching` uses the network.

    - `readable`: other users may read the files that git writes, whatever our umask is.
    - `holding`: descriptor of a lock that stays taken until git has ended, even if this process ends first.
    - `reading`: file for standard input.
    - `on_output`, `should_stop`: see `process.run`.
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


def git_environment(fetching: FetchPlan | None = None) -> dict[str, str]:
    """Returns the complete environment of a git call."""
    named = isolated_environment() if fetching is None else dict(fetching.env)
    return {"PATH": os.environ.get("PATH", os.defpath), **named, **_AUTHOR}
