"""Installations of the App, and the repositories that they reach."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from psycopg import Connection

from cliffwatch_service.postgres.rows import row_cursor

InstallationState = Literal["active", "suspended", "removed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallationRow:
    """An installation of the App."""

    account: str
    """The account on whose repositories the App is installed."""
    state: InstallationState
    looked: datetime
    """When it was last looked at."""
    repositories: int
    """Number of repositories that it reaches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepositoryRow:
    """A repository."""

    id: int
    """GitHub's number."""
    installation_id: int
    name: str
    allowed: bool
    """Whether the installation still reaches it."""
    policy: str | None
    """An administrator's policy; None if there is none."""
    installation_state: InstallationState


def keep_installation(
    connection: Connection[Any], number: int, account: str, state: InstallationState, now: datetime
) -> None:
    connection.execute(
        "INSERT INTO github_installation (id, account, state, looked) VALUES (%s, %s, %s, %s)"
        " ON CONFLICT (id) DO UPDATE"
        " SET account = excluded.account, state = excluded.state, looked = excluded.looked",
        [number, account, state, now],
    )


def set_installation_state(
    connection: Connection[Any], number: int, state: InstallationState, now: datetime
) -> None:
    connection.execute(
        "UPDATE github_installation SET state = %s, looked = %s WHERE id = %s", [state, now, number]
    )


def list_installations(connection: Connection[Any]) -> list[InstallationRow]:
    query = (
        "SELECT account, state, looked, (SELECT count(*) FROM github_repository"
        " WHERE installation_id = github_installation.id AND allowed) AS repositories"
        " FROM github_installation ORDER BY account, id"
    )
    return row_cursor(connection, InstallationRow).execute(query).fetchall()


def keep_repositories(
    connection: Connection[Any], installation: int, repositories: Sequence[tuple[int, str]]
) -> None:
    """Stores the repositories (number, name) that an installation reaches.

    It no longer reaches any others.
    """
    connection.execute(
        "UPDATE github_repository SET allowed = false WHERE installation_id = %s AND NOT id = ANY(%s)",
        [installation, [number for number, _ in repositories]],
    )
    for number, name in repositories:
        connection.execute(
            "INSERT INTO github_repository (id, installation_id, name) VALUES (%s, %s, %s)"
            " ON CONFLICT (id) DO UPDATE"
            " SET installation_id = excluded.installation_id, name = excluded.name, allowed = true",
            [number, installation, name],
        )


_REPOSITORY = """
SELECT github_repository.id, installation_id, name, allowed, policy,
    github_installation.state AS installation_state
FROM github_repository JOIN github_installation ON github_installation.id = installation_id
"""


def repository_row(connection: Connection[Any], number: int) -> RepositoryRow | None:
    query = _REPOSITORY + " WHERE github_repository.id = %s"
    return row_cursor(connection, RepositoryRow).execute(query, [number]).fetchone()


def repository_named(connection: Connection[Any], name: str) -> RepositoryRow | None:
    query = (
        _REPOSITORY
        + " WHERE lower(name) = lower(%s) ORDER BY allowed DESC, github_repository.id DESC LIMIT 1"
    )
    return row_cursor(connection, RepositoryRow).execute(query, [name]).fetchone()


def set_policy(connection: Connection[Any], number: int, policy: str | None) -> None:
    connection.execute("UPDATE github_repository SET policy = %s WHERE id = %s", [policy, number])
