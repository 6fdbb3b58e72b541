"""The PostgreSQL that the settings name, or the embedded one, with the schema of this version."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cliffwatch_service.postgres.embedded import EmbeddedPostgres, start_embedded
from cliffwatch_service.postgres.embedded_folders import lock_data_folder
from cliffwatch_service.postgres.migrate import migrate
from cliffwatch_service.runtime.settings import Settings


@dataclass(frozen=True, slots=True)
class Postgres:
    """A database server that is ready for use."""

    url: str
    where: str
    """Description for people."""
    programs: Path | None
    """Folder of pg_dump and the other client programs; None for those on PATH."""
    embedded: EmbeddedPostgres | None = None


@contextmanager
def postgres(settings: Settings) -> Iterator[Postgres]:
    """Yields a database with the current schema. The embedded server stops with its last user."""
    if settings.database_url is not None:
        migrate(settings.database_url)
        yield Postgres(settings.database_url, "the database of DATABASE_URL", None)
        return
    with lock_data_folder(settings.data_dir):
        embedded = _start_migrated(settings.data_dir)
    try:
        yield Postgres(
            embedded.url, f"an embedded PostgreSQL in {embedded.folder}", embedded.programs, embedded
        )
    finally:
        with lock_data_folder(settings.data_dir):
            embedded.stop()


def _start_migrated(data_dir: Path) -> EmbeddedPostgres:
    embedded = start_embedded(data_dir)
    try:
        migrate(embedded.url)
    except BaseException:
        embedded.stop()
        raise
    return embedded
