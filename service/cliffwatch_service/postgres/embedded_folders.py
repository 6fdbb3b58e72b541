"""Keeps the embedded PostgreSQL's lock and socket in folders of one user, out of reach of others.

By default its library keeps one lock file in the shared temporary folder, which shuts out every user but the
first. Sockets with long paths it keeps there too, in a folder that everybody may write.
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
"""User as whom the library starts the server for root: PostgreSQL refuses to run as root."""

_PLAIN = re.compile(r"[A-Za-z0-9/._,+@%=-]+")
"""Paths that need no shell quoting: the library puts the socket's folder into a command line unquoted."""

_NEXT_STEP = "name a folder of yours with --data-dir, or run this as that user"

_SOCKET = ".s.PGSQL.5432"
_LONGEST_SOCKET = 107


def open_folder(data_dir: Path) -> Path:
    """Returns the server's folder in `data_dir`, and creates `data_dir` if it is missing.

    Raises Refusal if this user cannot write `data_dir`, or if the server's folder belongs to another user.
    Root could start a server on it, but would take it away from its owner.
    """
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unusable(f"{data_dir} cannot be created ({error.strerror}); {_NEXT_STEP}") from None
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
def lock_data_folder(data_dir: Path) -> Iterator[None]:
    """Makes other commands wait while one starts, migrates or stops the server on `data_dir`.

    The first start creates files and a database, and the last user stops the server: neither tolerates other
    commands. Raises Refusal as `open_folder` does, OSError.
    """
    open_folder(data_dir)
    with (data_dir / "start.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def keep_apart(package: Any, server: Any, data_dir: Path) -> None:
    """Gives a server its own lock, and its own socket folder if its data folder is unsuitable.

    Call it before the server starts.
    """
    import fasteners  # noqa: PLC0415 - comes with the embedded PostgreSQL; only who needs it

    server._lock = fasteners.InterProcessLock(data_dir / "postgresql.lock")  # noqa: SLF001 - no setting for it
    package.postgres_server.find_suitable_socket_dir = _socket_folder


def close_socket_folder(server: Any) -> None:
    """Lets only the server write to its socket's folder.

    The library makes it writable by everybody if root asks.
    """
    folder = server.get_postmaster_info().socket_dir
    if os.geteuid() == 0 and folder is not None and folder != server.pgdata:
        folder.chmod(0o755)


def _socket_folder(pgdata: Path, _: Path) -> Path:
    """Returns the server's own folder, or one of this user's below the temporary folder.

    The latter is used if the server's path is too long for a socket or needs shell quoting.
    """
    if _has_room(pgdata):
        return pgdata
    uid = os.geteuid()
    own = Path(f"cliffwatch-{uid}") / hashlib.sha256(os.fsencode(pgdata)).hexdigest()[:16]
    temporary = Path(tempfile.gettempdir())
    folder = (temporary if _has_room(temporary / own) else Path("/tmp")) / own  # noqa: S108 - `own` is private
    _own_folder(folder.parent, uid, 0o755 if uid == 0 else 0o700)
    folder.mkdir(mode=0o755, exist_ok=True)
    if uid == 0:
        os.chown(folder, _server_uid(uid), -1)
    return folder


def _has_room(folder: Path) -> bool:
    """Whether the path of a socket in this folder is short enough and needs no shell quoting."""
    return bool(_PLAIN.fullmatch(str(folder))) and len(os.fsencode(folder / _SOCKET)) <= _LONGEST_SOCKET


def _own_folder(path: Path, uid: int, mode: int) -> None:
    """Creates a folder under a name that anybody could have taken first. Raises Refusal if somebody did."""
    try:
        path.mkdir(mode=mode)
    except FileExistsError:
        status = path.lstat()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != uid or status.st_mode & 0o022:
            raise _unusable(
                f"{path} is not a folder that only {_name(uid)} can write;"
                " remove it, or set TMPDIR to a folder of yours"
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
