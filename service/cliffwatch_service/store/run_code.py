"""code.json of runs: how the code of their kernels differs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from psycopg import Connection

from cliffwatch_service.postgres.rows import typed


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCodeRow:
    """`content` is JSON, zstd."""

    digest: str
    content: bytes


def insert_code(connection: Connection[Any], run_id: int, digest: str, content: bytes) -> bool:
    """Whether it is new."""
    done = connection.execute(
        "INSERT INTO run_code (run_id, digest, content) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING",
        [run_id, digest, content],
    )
    return done.rowcount == 1


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeOfArmsRow:
    """code.json of the run that two arms are of, JSON, zstd, with their names."""

    content: bytes
    base: str
    head: str


def code_of_arms(connection: Connection[Any], base: int, head: int) -> CodeOfArmsRow | None:
    """None where they are of two runs, or the run has none."""
    query = (
        "SELECT content, base.name AS base, head.name AS head FROM arm AS base JOIN arm AS head USING (run_id)"
        " JOIN run_code USING (run_id) WHERE base.id = %s AND head.id = %s"
    )
    return typed(connection, CodeOfArmsRow).execute(query, [base, head]).fetchone()


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeOfArmRow:
    """code.json of the run that an arm is of, JSON, zstd, with its name there."""

    content: bytes
    name: str


def code_of_arm(connection: Connection[Any], arm: int) -> CodeOfArmRow | None:
    """None where its run has none."""
    query = "SELECT content, name FROM arm JOIN run_code USING (run_id) WHERE arm.id = %s"
    return typed(connection, CodeOfArmRow).execute(query, [arm]).fetchone()


def code_digests(connection: Connection[Any], arms: Sequence[int]) -> list[str | None]:
    """The digests of code.json of the runs that arms are of, in their order; None of a run that has none."""
    query = "SELECT arm.id, digest FROM arm LEFT JOIN run_code USING (run_id) WHERE arm.id = ANY(%s)"
    found = dict(connection.execute(query, [list(arms)]).fetchall())
    return [found.get(arm) for arm in arms]


def code_of_run(connection: Connection[Any], run: str) -> RunCodeRow | None:
    query = "SELECT run_code.digest, content FROM run_code JOIN run ON run.id = run_id WHERE run.digest = %s"
    return typed(connection, RunCodeRow).execute(query, [run]).fetchone()
