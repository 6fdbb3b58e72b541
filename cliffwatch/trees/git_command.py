"""Command lines and environments for all calls of git.

git then runs no program that a repository names, and uses only the protocols that the caller permits.
"""

from collections.abc import Collection, Sequence
from pathlib import Path

NO_REPOSITORY = Path("/dev/null")
"""A path without a repository.

Without it, git would use the settings of a repository around the current folder.
"""

_SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.looseCompression=0",
    "fetch.recurseSubmodules=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "advice.detachedHead=false",
)
_STRICT = (
    "credential.helper=",
    "http.followRedirects=false",
    "http.cookieFile=",
    "http.lowSpeedLimit=1000",
    "http.lowSpeedTime=120",
    "transfer.bundleURI=false",
    "fetch.uriProtocols=",
)
_ENVIRONMENT = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_ATTR_NOSYSTEM": "1",
    "LC_ALL": "C.UTF-8",
}
_ISOLATED_ENVIRONMENT = {
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_SSH_COMMAND": "false",
    "GIT_ASKPASS": "false",
}


def git_argv(arguments: Sequence[str], git_dir: Path | None, settings: Sequence[str] = ()) -> list[str]:
    """Returns the command line of git on one of Cliffwatch's own repositories, or on none."""
    words = [word for setting in (*_SETTINGS, *settings) for word in ("-c", setting)]
    return ["git", *words, f"--git-dir={git_dir or NO_REPOSITORY}", *arguments]


def strict_settings(*more: str) -> tuple[str, ...]:
    """Returns the settings for fetching from an untrusted address."""
    return (*_STRICT, *more)


def users_environment() -> dict[str, str]:
    """Returns the variables to set for a call that uses the user's own settings and keys."""
    return dict(_ENVIRONMENT)


def isolated_environment(protocols: Collection[str] = ()) -> dict[str, str]:
    """Returns the variables to set for a call without any user's settings and keys.

    Without `protocols` it cannot fetch.

    GIT_ALLOW_PROTOCOL overrides the settings of a repository; the setting protocol.allow would not.
    """
    return {**_ENVIRONMENT, **_ISOLATED_ENVIRONMENT, "GIT_ALLOW_PROTOCOL": ":".join(protocols)}
