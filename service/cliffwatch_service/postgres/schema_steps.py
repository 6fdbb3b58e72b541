"""Applies migrations with Alembic, which nothing else in the service needs."""

from pathlib import Path

import psycopg
from alembic import command
from alembic.config import Config
from sqlalchemy import create_engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import StaticPool


def upgrade(connection: psycopg.Connection, folder: Path) -> None:
    """Applies the missing migrations, each in a transaction of its own; leaves the connection open.

    The connection stays open.
    """
    engine = create_engine("postgresql+psycopg://", creator=lambda: connection, poolclass=StaticPool)
    try:
        with engine.connect() as bound:
            config = Config()
            config.set_main_option("script_location", str(folder))
            config.attributes["connection"] = bound
            command.upgrade(config, "head")
            bound.commit()
    except DBAPIError as error:
        raise (error.orig or error) from None
