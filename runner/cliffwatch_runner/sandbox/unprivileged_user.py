"""Chooses the user for untrusted code when Cliffwatch itself is root: a user who owns nothing on the host."""

import os
import pwd
from dataclasses import dataclass
from pathlib import Path

NAME = "cliffwatch-build"
_NUMBER = 64750
"""Uid and gid if the host has no user of that name, from a range for users without an account.

See systemd.io/UIDS-GIDS.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """An unprivileged user."""

    uid: int
    gid: int

    def argv(self, command: list[str], *, groups: tuple[int, ...] = ()) -> list[str]:
        """Returns the command as this user, without any of root's rights and without a way to regain them."""
        more = ["--groups", ",".join(map(str, groups))] if groups else ["--clear-groups"]
        rights = ["--no-new-privs", "--bounding-set=-all", "--inh-caps=-all", "--"]
        return ["setpriv", "--reuid", str(self.uid), "--regid", str(self.gid), *more, *rights, *command]

    def own(self, folder: Path) -> None:
        """Makes the user the owner of one of our folders, to write to."""
        os.chown(folder, self.uid, self.gid, follow_symlinks=False)


def unprivileged_user(process: Path = Path("/proc/self")) -> User | None:
    """Returns the user to switch to; None if Cliffwatch is not root.

    Root of a user namespace that maps no other users counts as an ordinary user of the host, so there is none
    either.
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
    """True if a user namespace maps this id.

    Each line of the map has the first id inside, the id outside, and a count.
    """
    rows = (map(int, line.split()) for line in numbers.read_text().splitlines())
    return any(first <= number < first + count for first, _, count in rows)


def find_closed_folder(user: User, path: Path) -> Path | None:
    """Returns the first folder on the way to `path` that the user cannot enter; None if there is none."""
    for folder in reversed((path, *path.parents)):
        about = folder.stat()
        bit = 0o100 if about.st_uid == user.uid else 0o010 if about.st_gid == user.gid else 0o001
        if folder.is_dir() and not about.st_mode & bit:
            return folder
    return None
