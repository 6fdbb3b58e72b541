"""Writes and verifies backups with PostgreSQL's own client programs."""

import os
import shutil
import subprocess
from itertools import pairwise
from pathlib import Path

from psycopg import conninfo

from cliffwatch_service.postgres.server import Postgres
from cliffwatch_service.refusal import Refusal

_OWN_MODE = 0o600
"""Only the owner may read a backup: it holds token hashes and webhook secrets."""


def backup(database: Postgres, file: Path) -> int:
    """Writes the whole database to one file, verifies it, and returns its size in bytes. Raises Refusal.

    The service may keep running: the file is a snapshot of one moment. The file gets its name once it is
    verified.
    """
    if file.exists():
        raise no_backup(f"{file} exists already: name another file")
    writing = file.with_name(f".{file.name}.writing")
    writing.unlink(missing_ok=True)
    try:
        os.close(os.open(writing, os.O_CREAT | os.O_EXCL | os.O_WRONLY, _OWN_MODE))
        to_file = ("--format=custom", "--compress=1", "--no-owner", f"--file={writing}")
        run_program(database.programs, "pg_dump", *to_file, url=database.url)
        verify(database.programs, writing)
        _sync(writing)
        writing.replace(file)
        _sync(file.parent)
    finally:
        writing.unlink(missing_ok=True)
    return file.stat().st_size


def verify(programs: Path | None, file: Path) -> str:
    """Reads a whole backup and returns the version of its schema.

    `programs`: folder of pg_restore; None for PATH. Raises Refusal.
    """
    if not file.is_file():
        raise no_backup(f"there is no backup {file}")
    try:
        run_program(programs, "pg_restore", "--file=/dev/null", str(file))
    except Refusal as refusal:
        raise no_backup(f"{file} is damaged, use another copy or backup: {refusal.detail}") from None
    table = ("--data-only", "--schema=public", "--table=alembic_version", "--file=-")
    lines = run_program(programs, "pg_restore", *table, str(file)).splitlines()
    rows = [after for line, after in pairwise(lines) if line.startswith("COPY ")]
    if len(rows) != 1 or not rows[0].isalnum():
        raise no_backup(f"{file} is a dump of something else: name a file that `cliffwatch backup` wrote")
    return rows[0]


def run_program(programs: Path | None, name: str, *arguments: str, url: str | None = None) -> str:
    """Runs one of PostgreSQL's client programs and returns its output. Raises Refusal.

    The password of `url` is passed in the environment, because other users can see a program's arguments.
    """
    path = str(programs / name) if programs is not None else shutil.which(name)
    if path is None:
        raise no_backup(f"{name} is not on PATH: install the client programs of your PostgreSQL")
    environment = dict(os.environ)
    if url is not None:
        parts = conninfo.conninfo_to_dict(url)
        password = parts.pop("password", None)
        if password is not None:
            environment["PGPASSWORD"] = str(password)
        arguments = (f"--dbname={conninfo.make_conninfo('', **parts)}", *arguments)
    done = subprocess.run([path, *arguments], capture_output=True, text=True, check=False, env=environment)
    if done.returncode != 0:
        raise no_backup(done.stderr.strip()[-1500:])
    return done.stdout


def no_backup(detail: str) -> Refusal:
    return Refusal(503, "no backup", detail)


def _sync(path: Path) -> None:
    """Flushes a path to disk, so that a backup survives a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
