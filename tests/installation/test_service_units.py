"""The units of examples/systemd: systemd takes them, and the backup's commands back up and remove what is old."""

import os
import shlex
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cliffwatch_service.postgres.backup import verify
from cliffwatch_service.postgres.embedded import client_programs

UNITS = Path(__file__).parents[2] / "examples/systemd"
PROGRAM = "/opt/cliffwatch/.venv/bin/cliffwatch"
COMMAND = str(Path(sys.executable).with_name("cliffwatch"))


@pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed: make test-programs"
)
def test_systemd_takes_every_line(tmp_path: Path) -> None:
    for unit in UNITS.iterdir():
        (tmp_path / unit.name).write_text(unit.read_text().replace(PROGRAM, "/bin/true"))
    names = sorted(str(path) for path in tmp_path.iterdir())
    argv = ["systemd-analyze", "--no-pager", "verify", "--man=no", *names]
    ended = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")


def run_commands(key: str, state: Path, **environment: str) -> None:
    """Runs the backup unit's commands as systemd does, with its state below `state`."""
    unit = (UNITS / "cliffwatch-backup.service").read_text().replace(PROGRAM, COMMAND)
    for line in unit.splitlines():
        if line.startswith(f"{key}="):
            text = line.partition("=")[2].replace("%S", str(state)).replace("%%", "%").replace("$$", "$")
            subprocess.run(shlex.split(text), check=True, env={**os.environ, **environment})


def test_a_backup_has_the_day_as_its_name(database: str, tmp_path: Path) -> None:
    folder = tmp_path / "cliffwatch-backup"
    folder.mkdir()
    settings = tmp_path / "service.toml"
    settings.write_text(f'database_url = "{database}"\n')
    path = f"{client_programs()}:{os.environ['PATH']}"
    run_commands("ExecStart", tmp_path, CLIFFWATCH_SETTINGS=str(settings), PATH=path)
    (file,) = folder.iterdir()
    assert datetime.strptime(file.name, "%Y-%m-%d.backup")  # noqa: DTZ007 - a day
    assert verify(client_programs(), file)


def test_a_week_and_a_year_of_months_are_kept(tmp_path: Path) -> None:
    folder = tmp_path / "cliffwatch-backup"
    folder.mkdir()
    now = datetime.now(UTC).timestamp()
    for age, name in (
        (1, "today.backup"),
        (7, "2026-10-20.backup"),
        (9, "2026-10-16.backup"),
        (50, "2026-10-01.backup"),
        (390, "2025-11-01.backup"),
        (410, "2025-10-01.backup"),
        (900, "notes"),
    ):
        (folder / name).touch()
        os.utime(folder / name, (now, now - age * 86400))
    run_commands("ExecStartPost", tmp_path)
    assert {path.name for path in folder.iterdir()} == {
        "today.backup",
        "2026-10-20.backup",
        "2026-10-01.backup",
        "2025-11-01.backup",
        "notes",
    }
