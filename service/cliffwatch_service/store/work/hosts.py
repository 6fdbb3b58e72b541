"""Hosts that do jobs, and what they offer."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import Connection
from psycopg.types.json import Jsonb

from cliffwatch.formats.values import FreeJson
from cliffwatch_service.postgres.rows import the_one, typed, values


@dataclass(frozen=True, slots=True, kw_only=True)
class HostRow:
    """A host; `token_id` is what it offers to work with, None where it only uploads."""

    id: int
    name: str
    platform: str
    token_id: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HostAtWorkRow:
    """A host as it is listed; `about` is what it says of itself, `job` the one that it does."""

    name: str
    platform: str
    added: datetime
    last_seen: datetime
    about: FreeJson
    job: UUID | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedTargetRow:
    """A platform and mode that a host offers, when it was last seen, and what it can do of what a setup may ask."""

    platform: str
    mode: str
    last_seen: datetime
    setups: bool
    build_images: list[str]
    cpus: int | None


def keep_host(
    connection: Connection[Any], name: str, platform: str, about: FreeJson, now: datetime
) -> HostRow:
    """The host's row. Its platform stays that of its first word."""
    connection.execute("INSERT INTO platform (name) VALUES (%s) ON CONFLICT DO NOTHING", [platform])
    return the_one(
        typed(connection, HostRow).execute(
            "INSERT INTO host (name, platform, added, last_seen, about) VALUES (%s, %s, %s, %s, %s)"
            " ON CONFLICT (name) DO UPDATE SET last_seen = excluded.last_seen, about = host.about || excluded.about"
            " RETURNING id, name, platform, token_id",
            [name, platform, now, now, Jsonb(about)],
        )
    )


def give_host(connection: Connection[Any], host_id: int, token_id: int | None, platform: str) -> None:
    """Makes a host the one that works under this token, on this platform."""
    connection.execute(
        "UPDATE host SET token_id = %s, platform = %s WHERE id = %s", [token_id, platform, host_id]
    )


def see_host(connection: Connection[Any], host_id: int, now: datetime) -> None:
    connection.execute("UPDATE host SET last_seen = %s WHERE id = %s", [now, host_id])


def list_hosts(connection: Connection[Any]) -> list[HostAtWorkRow]:
    return (
        typed(connection, HostAtWorkRow)
        .execute(
            "SELECT host.name, host.platform, added, last_seen, about,"
            " (SELECT job_id FROM lease WHERE host_id = host.id AND lease.ended IS NULL LIMIT 1) AS job"
            " FROM host ORDER BY host.name"
        )
        .fetchall()
    )


def hosts_at_work(connection: Connection[Any], platform: str, since: datetime) -> int:
    query = "SELECT count(*) AS hosts FROM host WHERE platform = %s AND last_seen >= %s"
    return the_one(values(connection, int).execute(query, [platform, since]))


_OFFERED = """
SELECT platform, mode, last_seen, coalesce(about -> 'setups' = 'true', false) AS setups,
       CASE jsonb_typeof(about -> 'cpus') WHEN 'number' THEN (about ->> 'cpus')::int END AS cpus,
       ARRAY(SELECT jsonb_array_elements_text(CASE jsonb_typeof(about -> 'build_images') WHEN 'array' THEN about -> 'build_images'
             ELSE '[]' END)) AS build_images
FROM host, jsonb_array_elements_text(CASE jsonb_typeof(about -> 'modes') WHEN 'array' THEN about -> 'modes' ELSE '[]' END) AS mode
ORDER BY platform, mode, name
"""


def offered_targets(connection: Connection[Any]) -> list[OfferedTargetRow]:
    """Every platform and mode that a host has offered, a row for each host."""
    return typed(connection, OfferedTargetRow).execute(_OFFERED).fetchall()
