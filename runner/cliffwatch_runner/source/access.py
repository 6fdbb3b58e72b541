"""How git may fetch a tree, depending on who vouches for its address.

A user who names a tree fetches it with their own keys, credentials and settings. The tree of a job is named
by somebody else: git fetches it without any key, credential or setting of this host's user, and only from the
address that was checked.
"""

import os
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, get_args

from cliffwatch.failure import Failure, host_failed, wrong_usage
from cliffwatch.formats.work import Trust as JobTrust
from cliffwatch.trees.addresses import PORTS, TreeAddress, closed, has_credentials, read_address
from cliffwatch.trees.git_command import git_argv, isolated_environment, strict_settings, users_environment
from cliffwatch_runner import process

_VERSION = re.compile(r"(\d{1,9})\.(\d{1,9})")
TreeAccess = Literal["own", "allowed", "public"]
"""Who vouches for the tree's address.

- `own`: this user.
- `allowed`: an administrator, so the address may be anywhere.
- `public`: nobody, so the address must be public.
"""

Trust = Literal["local", JobTrust]
"""Whose tree it is.

- `followed`: a branch that an administrator follows.
- `local`: this user's own tree.
- `outside`: anybody's.
"""

ACCESSES: tuple[TreeAccess, ...] = get_args(TreeAccess)

_OWN = ("HOME", "SSH_AUTH_SOCK", "GIT_SSH_COMMAND", "GIT_SSL_CAINFO", "http_proxy", "https_proxy", "no_proxy")
_ALLOWED = ("GIT_SSL_CAINFO", "http_proxy", "https_proxy", "no_proxy")
_PUBLIC = ("GIT_SSL_CAINFO",)
_PINNING = (2, 37)
"""First git version with http.curloptResolve. An older git would resolve the host name again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchPlan:
    """One call of git that uses the network."""

    url: str
    """The URL as git must read it."""
    settings: tuple[str, ...]
    """Settings that keep git to the checked URL."""
    env: Mapping[str, str]
    """Environment that keeps git to the checked URL."""


def plan_fetch(url: str, access: TreeAccess) -> FetchPlan | Failure:
    """Returns how to fetch from a URL now.

    Call it before every fetch: the host name may resolve differently later.
    """
    if has_credentials(url):
        return wrong_usage(
            "the address of the tree carries credentials",
            "leave them out, for others can read what programs are called with: `git config"
            " credential.helper` keeps them",
        )
    if access == "own":
        return FetchPlan(
            url=url,
            settings=("protocol.ext.allow=never",),
            env={**_select_environment(_OWN), **users_environment()},
        )
    address = read_address(url)
    if isinstance(address, Failure):
        return wrong_usage(f"the tree cannot be fetched for a job: {address.message}", address.next_step)
    if access == "allowed":
        return FetchPlan(
            url=address.url,
            settings=strict_settings(),
            env={**_select_environment(_ALLOWED), **isolated_environment(PORTS)},
        )
    return _plan_public_fetch(address)


def plan_local_fetch(git_dir: Path) -> FetchPlan:
    """Returns how to fetch from one of our own repositories on this host."""
    return FetchPlan(url=str(git_dir), settings=(), env=isolated_environment(("file",)))


def _select_environment(names: tuple[str, ...]) -> dict[str, str]:
    return {name: os.environ[name] for name in names if name in os.environ}


def _plan_public_fetch(address: TreeAddress) -> FetchPlan | Failure:
    if address.scheme not in ("https", "http"):
        return wrong_usage(
            f"a tree that no administrator allows is not fetched by {address.scheme}", "use https, or ask one"
        )
    addresses = _look_up_host(address)
    if isinstance(addresses, Failure):
        return addresses
    if any(is_closed(each) for each in addresses):
        return wrong_usage(
            f"{address.host} is at a private or reserved address, where trees of requests may not be",
            "an administrator of the service can allow it (CLIFFWATCH_TREES)",
        )
    pinned = []
    if not address.literal:
        if _git_version() < _PINNING:
            wanted = ".".join(map(str, _PINNING))
            return host_failed(
                f"git is older than {wanted} and cannot be kept to the address that was checked",
                f"install git {wanted} or newer",
            )
        where = ",".join(f"[{each}]" if ":" in each else each for each in addresses)
        pinned = [f"http.curloptResolve={address.host}:{address.port}:{where}"]
    return FetchPlan(
        url=address.url,
        settings=strict_settings("http.proxy=", *pinned),
        env={**_select_environment(_PUBLIC), **isolated_environment((address.scheme,))},
    )


def _look_up_host(address: TreeAddress) -> list[str] | Failure:
    try:
        answers = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        return host_failed(
            f"{address.host} cannot be looked up", "check the address and the network", str(error)
        )
    return list(dict.fromkeys(str(each[4][0]) for each in answers))


def is_closed(address: str) -> bool:
    """True if other people's trees may not be at an address: it is not public, or it belongs to this host."""
    return closed(address) or _is_ours(address)


def _is_ours(address: str) -> bool:
    """True if the address belongs to this host: a host reaches its own address from that address.

    Sends nothing.
    """
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((address, PORTS["https"]))
            return str(probe.getsockname()[0]) == address
    except OSError:
        return False


@cache
def _git_version() -> tuple[int, ...]:
    ended = process.run(git_argv(["--version"], None), deadline=60)
    version = _VERSION.search(ended.output)
    return (int(version[1]), int(version[2])) if version else (0, 0)
