"""Calls git so that a hostile repository has nothing to run: no hooks, no helpers, no submodules, no user's settings."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from cliffwatch.tree_addresses import without_credentials
from cliffwatch_runner import process
from cliffwatch_runner.source.access import Fetching

_SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.looseCompression=0",
    "protocol.ext.allow=never",
    "fetch.recurseSubmodules=false",
    "gc.auto=0",
    "safe.directory=*",
    "advice.detachedHead=false",
)
_FETCHED = ("core.looseCompression=1",)
"""What comes from elsewhere may be zeros without end."""

_FIXED = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_AUTHOR_NAME": "Cliffwatch",
    "GIT_AUTHOR_EMAIL": "cliffwatch@localhost",
    "GIT_AUTHOR_DATE": "1970-01-01T00:00:00+0000",
    "GIT_COMMITTER_NAME": "Cliffwatch",
    "GIT_COMMITTER_EMAIL": "cliffwatch@localhost",
    "GIT_COMMITTER_DATE": "1970-01-01T00:00:00+0000",
    "LC_ALL": "C.UTF-8",
}
_HOURS = 3600.0
_READABLE = ("sh", "-c", 'umask 022 && exec "$@"', "sh")
_HOLDING = ("sh", "-c", 'trap : TERM; "$@" </dev/null; exit $?', "sh")
"""Has a lock as its standard input until git has ended. git itself does not get it: what it leaves running would hold it on."""


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
) -> process.Finished:
    """Runs git and returns how it ended. Only a call with a `fetching` reaches out. `on_output` and `should_stop` are those of `process.run`.

    `readable`: all users may read what it writes, whatever our own umask is. `holding`: descriptor of a lock that stays taken until git has
    ended, even where this process ends before.
    """
    clean = {"PATH": os.environ.get("PATH", os.defpath)}
    clean |= {"HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"} if fetching is None else fetching.env
    called = git_argv(arguments, git_dir, (*fetching.settings, *_FETCHED) if fetching is not None else ())
    ended = process.run(
        [*(_HOLDING if holding is not None else ()), *(_READABLE if readable else ()), *called],
        stdin=holding,
        cwd=cwd,
        env=clean | _FIXED | dict(env or {}),
        on_output=on_output,
        should_stop=should_stop,
        deadline=2 * _HOURS,
        keep=8 << 20,
    )
    return ended if fetching is None else replace(ended, output=without_credentials(ended.output))


def git_argv(arguments: Sequence[str], git_dir: Path | None, settings: Sequence[str] = ()) -> list[str]:
    """The call of git with the settings that leave a hostile repository nothing to run."""
    directory = [f"--git-dir={git_dir}"] if git_dir is not None else []
    return ["git", *(word for setting in (*_SETTINGS, *settings) for word in ("-c", setting)), *directory, *arguments]
