"""Hosts that do jobs, and the platforms and modes that they offer."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import Connection
from psycopg.types.json import Jsonb

from cliffwatch.formats.values import FreeJson
from cliffwatch_service.postgres.rows import fetch_single_row, row_cursor, values


@dataclass(frozen=True, slots=True, kw_only=True)
class HostRow:
    """A host."""

    id: int
    name: str
    platform: str
    token_id: int | None
    """The token with which it offers to work; None if it only uploads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostAtWorkRow:
    """A host in a list."""

    name: str
    platform: str
    added: datetime
    last_seen: datetime
    about: FreeJson
    """What it reports about itself."""
    job: UUID | None
    """The job that it does now; None if it does none."""
    unfit: FreeJson
    """By mode, why it gave back a job; empty if it is fit for all modes."""
    quarantined_since: datetime | None
    """None if it is not in quarantine."""
    quarantine_reason: str | None
    quarantine_run: str | None
    """Digest of the run whose control moved; None if there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedTargetRow:
    """A platform and mode that a host offers."""

    platform: str
    mode: str
    last_seen: datetime
    setups: bool
    """Whether it takes requests with a setup."""
    build_images: list[str]
    """Images that it builds in."""
    cpus: int | None
    """None if it does not say."""


def keep_host(
    connection: Connection[Any], name: str, platform: str, about: FreeJson, now: datetime
) -> HostRow:
    """Stores a host and returns its row. A known host keeps its platform."""
    connection.execute("INSERT INTO platform (name) VALUES (%s) ON CONFLICT DO NOTHING", [platform])
    return fetch_single_row(
        row_cursor(connection, HostRow).execute(
            "INSERT INTO host (name, platform, added, last_seen, about) VALUES (%s, %s, %s, %s, %s)"
            " ON CONFLICT (name) DO UPDATE SET last_seen = excluded.last_seen,"
            " about = host.about || excluded.about"
            " RETURNING id, name, platform, token_id",
            [name, platform, now, now, Jsonb(about)],
        )
    )


def host_id(connection: Connection[Any], name: str) -> int | None:
    return values(connection, int).execute("SELECT id FROM host WHERE name = %s", [name]).fetchone()


def host_row(connection: Connection[Any], name: str) -> HostRow | None:
    query = "SELECT id, name, platform, token_id FROM host WHERE name = %s"
    return row_cursor(connection, HostRow).execute(query, [name]).fetchone()


def give_host(connection: Connection[Any], host_id: int, token_id: int | None, platform: str) -> None:
    """Binds a host to the token and the platform that it works with."""
    connection.execute(
        "UPDATE host SET token_id = %s, platform = %s WHERE id = %s", [token_id, platform, host_id]
    )


def see_host(connection: Connection[Any], host_id: int, now: datetime) -> None:
    connection.execute("UPDATE host SET last_seen = %s WHERE id = %s", [now, host_id])


def keep_unfit(connection: Connection[Any], host_id: int, mode: str, reason: str) -> None:
    """Stores why a host gave back a job in a mode."""
    connection.execute(
        "UPDATE host SET unfit = unfit || jsonb_build_object(%s::text, %s::text) WHERE id = %s",
        [mode, reason, host_id],
    )


def drop_unfit(connection: Connection[Any], host_id: int, modes: Sequence[str]) -> None:
    """Forgets why a host was unfit in modes that it offers again."""
    connection.execute("UPDATE host SET unfit = unfit - %s::text[] WHERE id = %s", [list(modes), host_id])


def list_hosts(connection: Connection[Any]) -> list[HostAtWorkRow]:
    return (
        row_cursor(connection, HostAtWorkRow)
        .execute(
            "SELECT host.name, host.platform, added, last_seen, about, unfit,"
            " (SELECT job_id FROM lease WHERE host_id = host.id AND lease.ended IS NULL LIMIT 1) AS job,"
            " quarantine.began AS quarantined_since, quarantine.reason AS quarantine_reason,"
            " run.digest AS quarantine_run"
            " FROM host LEFT JOIN quarantine ON quarantine.host_id = host.id AND quarantine.ended IS NULL"
            " LEFT JOIN run ON run.id = quarantine.run_id ORDER BY host.name"
        )
        .fetchall()
    )


def hosts_at_work(
    connection: Connection[Any], platform: str, mode: str, since: datetime, *, quarantined: bool
) -> int:
    """Returns the number of fit hosts that were seen, with those in quarantine or without."""
    query = (
        "SELECT count(*) AS hosts FROM host WHERE platform = %s AND last_seen >= %s AND NOT unfit ? %s"
        " AND (%s OR NOT EXISTS (SELECT FROM quarantine WHERE host_id = host.id AND ended IS NULL))"
    )
    wanted = [platform, since, mode, quarantined]
    return fetch_single_row(values(connection, int).execute(query, wanted))


_OFFERED = """
SELECT platform, mode, last_seen, coalesce(about -> 'setups' = 'true', false) AS setups,
       CASE jsonb_typeof(about -> 'cpus') WHEN 'number' THEN (about ->> 'cpus')::int END AS cpus,
       ARRAY(SELECT jsonb_array_elements_text(CASE jsonb_typeof(about -> 'build_images') WHEN 'array'
           THEN about -> 'build_images'
             ELSE '[]' END)) AS build_images
FROM host, jsonb_array_elements_text(CASE jsonb_typeof(about -> 'modes') WHEN 'array' THEN about -> 'modes'
    ELSE '[]' END) AS mode
ORDER BY platform, mode, name
"""


def offered_targets(connection: Connection[Any]) -> list[OfferedTargetRow]:
    """Returns every platform and mode that a host has ever offered, one row per host."""
    return row_cursor(connection, OfferedTargetRow).execute(_OFFERED).fetchall()


@dataclass(frozen=True, slots=True, kw_only=True)
class HostCheckRow:
    """The base vs base check of a run."""

    run: str
    """Digest."""
    at: datetime
    """When the run was made."""
    head: str
    """Commit that the run compared with base."""
    n: int
    """Number of boots of base."""
    rows: int
    published: int
    """Rows of `rows` in which the method would have published a change."""
    largest: float
    """Largest difference, a fraction."""
    notable: float
    """Threshold of the comparison, a fraction."""
    epoch: str


_CHECKS = """
SELECT run.digest AS run, run.created AS at, revision.commit AS head, environment.epoch,
    (comparison.summary #>> '{arms,0,boots}')::int AS n,
    (comparison.summary #>> '{control,rows}')::int AS rows,
    (comparison.summary #>> '{control,published}')::int AS published,
    (comparison.summary #>> '{control,largest}')::float8 AS largest,
    (comparison.summary ->> 'notable')::float8 AS notable
FROM (SELECT run.* FROM run JOIN host ON host.id = host_id WHERE host.name = %(host)s
    ORDER BY created DESC, run.id DESC LIMIT %(limit)s) AS run
JOIN environment ON environment.id = run.environment_id
JOIN arm AS base ON base.run_id = run.id AND base.name = 'base'
JOIN arm AS head ON head.run_id = run.id AND head.name = 'head'
JOIN comparison ON base_arm_id = base.id AND head_arm_id = head.id
JOIN revision ON revision.id = head_revision_id
WHERE jsonb_typeof(comparison.summary -> 'control') = 'object'
ORDER BY run.created, run.id
"""


def checks_of_host(connection: Connection[Any], host: str, limit: int) -> list[HostCheckRow]:
    """Returns the base vs base checks among a host's newest `limit` runs, oldest first."""
    wanted = {"host": host, "limit": limit}
    return row_cursor(connection, HostCheckRow).execute(_CHECKS, wanted).fetchall()
