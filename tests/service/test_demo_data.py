"""`cliffwatch demo-data`: a first page that is not empty, and that nobody takes for results."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import psycopg
from service_running import Running
from service_runs import put_all, run_of

COMMAND = Path(sys.executable).with_name("cliffwatch")


def demo_data(url: str, tmp_path: Path) -> "subprocess.CompletedProcess[str]":
    env = {**os.environ, "DATABASE_URL": url, "CLIFFWATCH_DATA_DIR": str(tmp_path)}
    return subprocess.run([COMMAND, "demo-data"], env=env, capture_output=True, text=True, check=False)


def test_it_fills_an_empty_database_once(kept_demonstration: Any, tmp_path: Path) -> None:
    """The command that filled it was started once for all tests (demonstration_kept.py)."""
    assert kept_demonstration.filled.exit_code == 0
    assert "real runs, measured in icount: 7 runs" in kept_demonstration.filled.said
    assert "cliffwatch serve" in kept_demonstration.filled.said
    for database in kept_demonstration.copied():
        with psycopg.connect(database) as connection:
            (made_up,) = connection.execute("SELECT count(*) FROM run WHERE mode = 'walltime'").fetchone()
            (measured,) = connection.execute("SELECT count(*) FROM run WHERE mode = 'icount'").fetchone()
            assert (made_up, measured) == (88, 7)
            assert connection.execute("SELECT count(*) FROM demonstration").fetchone() == (1,)
        again = demo_data(database, tmp_path)
        assert again.returncode == 2
        assert "has the demonstration already" in again.stderr


def test_it_never_mixes_with_results(running: Running, tmp_path: Path) -> None:
    with running.http("upload") as http:
        put_all(http, run_of(boots=1, cases=1))
    refused = demo_data(running.database, tmp_path)
    assert refused.returncode == 2
    assert "this database has results: name an empty one" in refused.stderr
    assert running.rows("SELECT count(*) AS n FROM run")[0]["n"] == 1
