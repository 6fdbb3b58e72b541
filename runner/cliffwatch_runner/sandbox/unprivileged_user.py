"""Whom somebody else's code runs as where Cliffwatch itself is root: a user who owns nothing of the host."""

import os
import pwd
from dataclasses import dataclass
from pathlib import Path

NAME = "cliffwatch-build"
_NUMBER = 64750
"""Where the host has no user of that name: one of the numbers that are kept for users without an account
(systemd.io/UIDS-GIDS).
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """A user's and his group's numbers."""

    uid: int
    gid: int

    def argv(self, command: list[str], *, groups: tuple[int, ...] = ()) -> list[str]:
        """The command as this user, without any right of root's and with no way back."""
        more = ["--groups", ",".join(map(str, groups))] if groups else ["--clear-groups"]
        rights = ["--no-new-privs", "--bounding-set=-all", "--inh-caps=-all", "--"]
        return ["setpriv", "--reuid", str(self.uid), "--regid", str(self.gid), *more, *rights, *command]

    def own(self, folder: Path) -> None:
        """Gives him a folder of ours, for him to write to."""
        os.chown(folder, self.uid, self.gid, follow_symlinks=False)


def unprivileged_user(process: Path = Path("/proc/self")) -> User | None:
    """The user to become; None where Cliffwatch is no root and has none to give up.

    The root of a user namespace that has no other users is one of the host's ordinary users.
    """
    if os.geteuid() != 0:
        return None
    try:
        entry = pwd.getpwnam(NAME)
        user = User(uid=entry.pw_uid, gid=entry.pw_gid) if entry.pw_uid else None
    except KeyError:
        user = None
    user = user or User(uid=_NUMBER, gid=_NUMBER)
    return user if _exists(user.uid, process / "uid_map") and _exists(user.gid, process / "gid_map") else None


def _exists(number: int, numbers: Path) -> bool:
    """Whether a user namespace has that number; each line has the first number, the one outside that it is,
    and how many follow.
    """
    rows = (map(int, line.split()) for line in numbers.read_text().splitlines())
    return any(first <= number < first + count for first, _, count in rows)


def out_of_reach(user: User, path: Path) -> Path | None:
    """The first folder on the way to `path` into which that user cannot go; None where he gets there."""
    for folder in reversed((path, *path.parents)):
        about = folder.stat()
        bit = 0o100 if about.st_uid == user.uid else 0o010 if about.st_gid == user.gid else 0o001
        if folder.is_dir() and not about.st_mode & bit:
            return folder
    return None
