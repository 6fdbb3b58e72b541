"""code.json of runs: how the code of their kernels differs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from psycopg import Connection

from cliffwatch_service.postgres.rows import row_cursor


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCodeRow:
    """The code.json of a run."""

    digest: str
    content: bytes
    """JSON, zstd."""


def insert_code(connection: Connection[Any], run_id: int, digest: str, content: bytes) -> bool:
    """Returns whether it is new."""
    done = connection.execute(
        "INSERT INTO run_code (run_id, digest, content) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING",
        [run_id, digest, content],
    )
    return done.rowcount == 1


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeOfArmsRow:
    """The code.json of a run, with the names of two of its arms."""

    content: bytes
    """JSON, zstd."""
    base: str
    head: str


def code_of_arms(connection: Connection[Any], base: int, head: int) -> CodeOfArmsRow | None:
    """Returns None if the arms are of different runs, or if their run has no code.json."""
    query = (
        "SELECT content, base.name AS base, head.name AS head FROM arm AS base"
        " JOIN arm AS head USING (run_id)"
        " JOIN run_code USING (run_id) WHERE base.id = %s AND head.id = %s"
    )
    return row_cursor(connection, CodeOfArmsRow).execute(query, [base, head]).fetchone()


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeOfArmRow:
    """The code.json of an arm's run, with the arm's name."""

    content: bytes
    """JSON, zstd."""
    name: str


def code_of_arm(connection: Connection[Any], arm: int) -> CodeOfArmRow | None:
    """Returns None if the arm's run has no code.json."""
    query = "SELECT content, name FROM arm JOIN run_code USING (run_id) WHERE arm.id = %s"
    return row_cursor(connection, CodeOfArmRow).execute(query, [arm]).fetchone()


def code_digests(connection: Connection[Any], arms: Sequence[int]) -> list[str | None]:
    """Returns the digest of code.json of each arm's run, in the order of `arms`; None if it has none."""
    query = "SELECT arm.id, digest FROM arm LEFT JOIN run_code USING (run_id) WHERE arm.id = ANY(%s)"
    found = dict(connection.execute(query, [list(arms)]).fetchall())
    return [found.get(arm) for arm in arms]


def code_of_run(connection: Connection[Any], run: str) -> RunCodeRow | None:
    query = "SELECT run_code.digest, content FROM run_code JOIN run ON run.id = run_id WHERE run.digest = %s"
    return row_cursor(connection, RunCodeRow).execute(query, [run]).fetchone()
