"""Where the embedded PostgreSQL has its lock and its socket: in folders of one user, out of reach of the host's others.

Its library keeps one lock file in the temporary folder of all, which shuts out every user but the first one, and sockets
with long paths beside it, in a folder that everybody may write.
"""

import fcntl
import hashlib
import os
import pwd
import re
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cliffwatch_service.refusal import Refusal

_SERVER_OF_ROOT = "pgserver"
"""Whom the library starts the server as where root asks for it: PostgreSQL refuses to run as root."""

_PLAIN = re.compile(r"[A-Za-z0-9/._,+@%=-]+")
"""What a shell takes as it is: the library puts the socket's folder into a command line without quotes."""

_NEXT_STEP = "name a folder of yours with --data-dir, or run this as that user"

_SOCKET = ".s.PGSQL.5432"
_LONGEST_SOCKET = 107


def open_folder(data_dir: Path) -> Path:
    """The server's folder in `data_dir`, which is made if it is not there.

    Raises Refusal where this user cannot write it, and where the data in it are another user's: root could start a
    server on them, and would take them away from their owner by that.
    """
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unusable(f"{data_dir} cannot be made ({error.strerror}); {_NEXT_STEP}") from None
    if not os.access(data_dir, os.W_OK | os.X_OK):
        raise _unusable(
            f"{data_dir} cannot be written, it belongs to {_name(data_dir.stat().st_uid)}; {_NEXT_STEP}"
        )
    folder = data_dir / "postgresql"
    uid = os.geteuid()
    if folder.exists() and folder.stat().st_uid not in {uid, _server_uid(uid)}:
        raise _unusable(f"{folder} belongs to {_name(folder.stat().st_uid)}; {_NEXT_STEP}")
    return folder


@contextmanager
def alone(data_dir: Path) -> Iterator[None]:
    """While one command starts, migrates or ends the server on `data_dir`, the others wait.

    The first start makes files and a database, and the last user stops the server: neither bears company. Raises Refusal
    as open_folder does, OSError.
    """
    open_folder(data_dir)
    with (data_dir / "start.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def keep_apart(package: Any, server: Any, data_dir: Path) -> None:
    """Gives a server that was not started yet its own lock and, where its folder cannot have the socket, its own folder for it."""
    import fasteners  # noqa: PLC0415 - comes with the embedded PostgreSQL; only who needs it

    server._lock = fasteners.InterProcessLock(data_dir / "postgresql.lock")  # noqa: SLF001 - it has no setting for this
    package.postgres_server.find_suitable_socket_dir = _socket_folder


def close_socket_folder(server: Any) -> None:
    """The library opens a socket's folder to everybody where root asks; only the server need write there."""
    folder = server.get_postmaster_info().socket_dir
    if os.geteuid() == 0 and folder is not None and folder != server.pgdata:
        folder.chmod(0o755)


def _socket_folder(pgdata: Path, _: Path) -> Path:
    """The server's own folder, or where its path is too long or odd for a socket, one in this user's temporary folder."""
    if _has_room(pgdata):
        return pgdata
    uid = os.geteuid()
    own = Path(f"cliffwatch-{uid}") / hashlib.sha256(os.fsencode(pgdata)).hexdigest()[:16]
    temporary = Path(tempfile.gettempdir())
    folder = (temporary if _has_room(temporary / own) else Path("/tmp")) / own  # noqa: S108 - the folder below it is this user's
    _own_folder(folder.parent, uid, 0o755 if uid == 0 else 0o700)
    folder.mkdir(mode=0o755, exist_ok=True)
    if uid == 0:
        os.chown(folder, _server_uid(uid), -1)
    return folder


def _has_room(folder: Path) -> bool:
    """Whether a socket in this folder has a name that fits and that a shell takes as it is."""
    return bool(_PLAIN.fullmatch(str(folder))) and len(os.fsencode(folder / _SOCKET)) <= _LONGEST_SOCKET


def _own_folder(path: Path, uid: int, mode: int) -> None:
    """Makes a folder under a name that anybody could have taken first. Raises Refusal where somebody did."""
    try:
        path.mkdir(mode=mode)
    except FileExistsError:
        status = path.lstat()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != uid or status.st_mode & 0o022:
            raise _unusable(
                f"{path} is not a folder that only {_name(uid)} can write; remove it, or set TMPDIR to a folder of yours"
            ) from None


def _server_uid(uid: int) -> int:
    if uid != 0:
        return uid
    try:
        return pwd.getpwnam(_SERVER_OF_ROOT).pw_uid
    except KeyError:
        return uid


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"


def _unusable(why: str) -> Refusal:
    return Refusal(503, "database not usable", f"the database cannot be used: {why}")
