"""Calls git so that a hostile repository has nothing to run: no hooks, no helpers, no submodules, no user's settings."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from cliffwatch_runner import process

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
_FOR_FETCHING = ("HOME", "SSH_AUTH_SOCK", "GIT_SSH_COMMAND", "GIT_SSL_CAINFO", "http_proxy", "https_proxy", "no_proxy")
_HOURS = 3600.0


def git(
    arguments: Sequence[str],
    *,
    git_dir: Path | None = None,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    fetches: bool = False,
) -> process.Finished:
    """Runs git and returns how it ended. Only a call that `fetches` sees the user's home, for keys and credentials."""
    clean = {"PATH": os.environ.get("PATH", os.defpath), "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}
    if fetches:
        clean |= {name: os.environ[name] for name in _FOR_FETCHING if name in os.environ}
        del clean["GIT_CONFIG_NOSYSTEM"]
    return process.run(
        git_argv(arguments, git_dir), cwd=cwd, env=clean | _FIXED | dict(env or {}), deadline=2 * _HOURS, keep=8 << 20
    )


def git_argv(arguments: Sequence[str], git_dir: Path | None) -> list[str]:
    """The call of git with the settings that leave a hostile repository nothing to run."""
    place = [f"--git-dir={git_dir}"] if git_dir is not None else []
    return ["git", *(word for setting in _SETTINGS for word in ("-c", setting)), *place, *arguments]
