"""The command line and the environment of every call of git: it runs nothing that a repository names, and
reaches out by no protocol but those that its caller allows.
"""

from collections.abc import Collection, Sequence
from pathlib import Path

NO_REPOSITORY = Path("/dev/null")
"""Where git finds no repository: it would otherwise take the settings of the one that its caller's folder
lies in.
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
_NOBODYS = {
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_SSH_COMMAND": "false",
    "GIT_ASKPASS": "false",
}


def git_argv(arguments: Sequence[str], git_dir: Path | None, settings: Sequence[str] = ()) -> list[str]:
    """A call of git on one of our own repositories, or on none."""
    words = [word for setting in (*_SETTINGS, *settings) for word in ("-c", setting)]
    return ["git", *words, f"--git-dir={git_dir or NO_REPOSITORY}", *arguments]


def strict_settings(*more: str) -> tuple[str, ...]:
    """The settings of a call that fetches what somebody else named."""
    return (*_STRICT, *more)


def users_environment() -> dict[str, str]:
    """What is set for a call that fetches with its user's own settings and keys."""
    return dict(_ENVIRONMENT)


def nobodys_environment(protocols: Collection[str] = ()) -> dict[str, str]:
    """What is set for a call without any user's settings and keys. Without `protocols` it fetches nothing.

    The variable overrides what a repository allows; the setting protocol.allow would not.
    """
    return {**_ENVIRONMENT, **_NOBODYS, "GIT_ALLOW_PROTOCOL": ":".join(protocols)}
