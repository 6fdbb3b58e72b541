"""Removes the names of a host's user and of the host itself from what is sent to others."""

import os
import pwd
import re
import socket
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

_USER_VARIABLES = ("USER", "LOGNAME", "SUDO_USER")
_NOT_PERSONAL = frozenset({"root", "nobody", "localhost", "bench", "cliffwatch"})
_UUID = re.compile(r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b")
_AUTHOR = re.compile(r'("author": )"(?:[^"\\]|\\.)*"')
_MAIL = re.compile(r"(?<![\w.+-])[\w.+-]++@[\w-]++(?:\.[\w-]++)++")
_WORD = re.compile(r"[\w-]++")
_CARD = re.compile(r"(?<![0-9A-Fa-f:])(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}(?![0-9A-Fa-f:])")
_DISK_OR_NETWORK = re.compile(
    r"(?<![\w.])(root|resume|ip|nfsroot|netconsole|cryptdevice|ds|systemd\.hostname"
    r"|(?:rd|luks|ifname|nameserver|iscsi)[\w.]*+)=[^\s\"\\]++"
)
"""Parameters of a kernel's command line that name disks, volumes, networks and the host."""


@dataclass(frozen=True, slots=True)
class Names:
    """What is replaced, and by what."""

    words: Mapping[str, str]
    """Whole words."""

    folders: Mapping[str, str]
    """Beginnings of paths."""


def names_of_this_host() -> Names:
    """Returns the names of the users who may have started this process, and of the host."""
    users = {os.environ[name] for name in _USER_VARIABLES if os.environ.get(name)}
    homes = {str(Path.home())}
    for entry in _accounts(sorted(users)):
        users |= {entry.pw_name, entry.pw_gecos.split(",")[0]}
        homes.add(entry.pw_dir)
    host = socket.gethostname()
    words = {**dict.fromkeys(users, "USER"), host: "HOST", host.partition(".")[0]: "HOST"}
    return Names(
        words={word: other for word, other in words.items() if len(word) > 1 and word not in _NOT_PERSONAL},
        folders={home: "HOME" for home in homes if home not in ("/", "/root")},
    )


def _accounts(names: Iterable[str]) -> Iterator[pwd.struct_passwd]:
    """Yields the accounts of this process, and those with these names; one that nobody knows is left out."""
    lookups = [partial(pwd.getpwuid, number) for number in (os.getuid(), os.geteuid())]
    for lookup in [*lookups, *(partial(pwd.getpwnam, name) for name in names)]:
        with suppress(KeyError):
            yield lookup()


def anonymous(content: bytes, names: Names) -> bytes | None:
    """Returns a text without these names, UUIDs, addresses of mail and network cards, and commits' authors.

    Nor has it the disks and networks of a kernel's command line.

    None if the content is no UTF-8: what it holds cannot be checked.
    """
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return None
    for folder in sorted(names.folders, key=len, reverse=True):
        text = text.replace(folder, names.folders[folder])
    for phrase in sorted(names.words, key=len, reverse=True):
        if not _WORD.fullmatch(phrase):
            text = text.replace(phrase, names.words[phrase])
    text = _WORD.sub(lambda word: names.words.get(word[0], word[0]), text)
    text = _AUTHOR.sub(r'\1"removed"', text)
    text = _DISK_OR_NETWORK.sub(r"\1=removed", text)
    return _MAIL.sub("MAIL", _CARD.sub("CARD", _UUID.sub("UUID", text))).encode()
