"""Where the App is installed, and which repositories it reaches there."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from psycopg import Connection


def keep_installation(connection: Connection[Any], number: int, account: str, state: str, now: datetime) -> None:
    connection.execute(
        "INSERT INTO github_installation (id, account, state, looked) VALUES (%s, %s, %s, %s) ON CONFLICT (id) DO UPDATE"
        " SET account = excluded.account, state = excluded.state, looked = excluded.looked",
        [number, account, state, now],
    )


def set_installation_state(connection: Connection[Any], number: int, state: str, now: datetime) -> None:
    connection.execute("UPDATE github_installation SET state = %s, looked = %s WHERE id = %s", [state, now, number])


def installation_row(connection: Connection[Any], number: int) -> Mapping[str, Any] | None:
    return connection.execute("SELECT * FROM github_installation WHERE id = %s", [number]).fetchone()


def list_installations(connection: Connection[Any]) -> list[Mapping[str, Any]]:
    return connection.execute(
        "SELECT github_installation.*, (SELECT count(*) FROM github_repository"
        " WHERE installation_id = github_installation.id AND allowed) AS repositories FROM github_installation ORDER BY account, id"
    ).fetchall()


def keep_repositories(connection: Connection[Any], installation: int, repositories: Sequence[tuple[int, str]]) -> None:
    """The repositories (number, name) that an installation reaches; it reaches no others any more."""
    connection.execute(
        "UPDATE github_repository SET allowed = false WHERE installation_id = %s AND NOT id = ANY(%s)",
        [installation, [number for number, _ in repositories]],
    )
    for number, name in repositories:
        connection.execute(
            "INSERT INTO github_repository (id, installation_id, name) VALUES (%s, %s, %s) ON CONFLICT (id) DO UPDATE"
            " SET installation_id = excluded.installation_id, name = excluded.name, allowed = true",
            [number, installation, name],
        )


_REPOSITORY = """
SELECT github_repository.*, github_installation.state AS installation_state
FROM github_repository JOIN github_installation ON github_installation.id = installation_id
"""


def repository_row(connection: Connection[Any], number: int) -> Mapping[str, Any] | None:
    return connection.execute(_REPOSITORY + " WHERE github_repository.id = %s", [number]).fetchone()


def repository_named(connection: Connection[Any], name: str) -> Mapping[str, Any] | None:
    return connection.execute(
        _REPOSITORY + " WHERE lower(name) = lower(%s) ORDER BY allowed DESC, github_repository.id DESC LIMIT 1", [name]
    ).fetchone()


def list_repositories(connection: Connection[Any]) -> list[Mapping[str, Any]]:
    return connection.execute(_REPOSITORY + " WHERE allowed ORDER BY name").fetchall()


def set_policy(connection: Connection[Any], number: int, policy: str | None) -> None:
    connection.execute("UPDATE github_repository SET policy = %s WHERE id = %s", [policy, number])
