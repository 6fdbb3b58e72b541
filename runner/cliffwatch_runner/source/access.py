"""How git may fetch a tree, by the right of whoever named its address.

A user who names a tree by hand fetches it with all that is his. A job's tree is named by somebody else: it
is fetched without any key, credential or setting of this host's user, from the address that was checked
and no other.
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
from cliffwatch.trees.addresses import PORTS, TreeAddress, closed, has_credentials, read_address
from cliffwatch.trees.git_command import git_argv, nobodys_environment, strict_settings, users_environment
from cliffwatch_runner import process

_VERSION = re.compile(r"(\d{1,9})\.(\d{1,9})")
TreeAccess = Literal["own", "allowed", "public"]
"""Who vouches for the tree's address: this user; an administrator, so that it may be anywhere; nobody, so
that it must be public.
"""

Trust = Literal["followed", "local", "outside"]
"""Whose tree it is: of a branch that an administrator follows, of the user at this keyboard, or of anybody.
"""

ACCESSES: tuple[TreeAccess, ...] = get_args(TreeAccess)

_OWN = ("HOME", "SSH_AUTH_SOCK", "GIT_SSH_COMMAND", "GIT_SSL_CAINFO", "http_proxy", "https_proxy", "no_proxy")
_ALLOWED = ("GIT_SSL_CAINFO", "http_proxy", "https_proxy", "no_proxy")
_PUBLIC = ("GIT_SSL_CAINFO",)
_PINNING = (2, 37)
"""The git that takes http.curloptResolve; an older one would look the name up again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetching:
    """One call of git that reaches out: the URL as git is to read it, and the settings and environment that
    hold it there.
    """

    url: str
    settings: tuple[str, ...]
    env: Mapping[str, str]


def fetching(url: str, access: TreeAccess) -> Fetching | Failure:
    """How to fetch from a URL now. For each call anew: a name may lead elsewhere by the next one."""
    if has_credentials(url):
        return wrong_usage(
            "the address of the tree carries credentials",
            "leave them out, for others can read what programs are called with: `git config"
            " credential.helper` keeps them",
        )
    if access == "own":
        return Fetching(
            url=url,
            settings=("protocol.ext.allow=never",),
            env={**_select_environment(_OWN), **users_environment()},
        )
    address = read_address(url)
    if isinstance(address, str):
        return wrong_usage(
            f"the tree cannot be fetched for a job: {address}", "ask for it by another address"
        )
    if access == "allowed":
        return Fetching(
            url=address.url,
            settings=strict_settings(),
            env={**_select_environment(_ALLOWED), **nobodys_environment(PORTS)},
        )
    return _public(address)


def reading_of(git_dir: Path) -> Fetching:
    """How to fetch from a repository of our own on this host."""
    return Fetching(url=str(git_dir), settings=(), env=nobodys_environment(("file",)))


def _select_environment(names: tuple[str, ...]) -> dict[str, str]:
    return {name: os.environ[name] for name in names if name in os.environ}


def _public(address: TreeAddress) -> Fetching | Failure:
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
    return Fetching(
        url=address.url,
        settings=strict_settings("http.proxy=", *pinned),
        env={**_select_environment(_PUBLIC), **nobodys_environment((address.scheme,))},
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
    """Whether other people's trees may not be at an address: none that is not everybody's, and none of this
    very host.
    """
    return closed(address) or _is_ours(address)


def _is_ours(address: str) -> bool:
    """A host reaches its own addresses from these themselves. Nothing is sent."""
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
