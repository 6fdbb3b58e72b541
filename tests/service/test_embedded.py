"""The embedded PostgreSQL starts for every user of a host, wherever his data lie, and for nobody on another's
data.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from cliffwatch_service.postgres.embedded import start_embedded
from cliffwatch_service.refusal import Refusal

START = """
import sys
from pathlib import Path
import psycopg
from cliffwatch_service.postgres.embedded import start_embedded

server = start_embedded(Path(sys.argv[1]))
with psycopg.connect(server.url) as connection:
    print(connection.execute("SELECT current_database()").fetchone()[0])
print(server.url.partition("?host=")[2])
server.stop()
"""


@pytest.fixture
def short() -> Iterator[Path]:
    """A folder whose path leaves room for a socket's, whoever runs the tests wherever."""
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    yield folder
    subprocess.run(["rm", "-r", str(folder)], check=True)


def started(data_dir: Path, temporary: Path) -> "subprocess.CompletedProcess[str]":
    """Starts and stops a server in a process whose temporary folder is `temporary`."""
    env = {**os.environ, "TMPDIR": str(temporary), "XDG_RUNTIME_DIR": str(temporary / "none")}
    argv = [sys.executable, "-c", START, str(data_dir)]
    return subprocess.run(argv, env=env, capture_output=True, text=True, check=False)


def test_what_another_user_left_in_the_temporary_folder_shuts_nobody_out(short: Path) -> None:
    """A folder in the lock's place cannot be opened by anybody, as another user's file cannot by an ordinary
    user.
    """
    (short / "shared" / ".lockfile").mkdir(parents=True)

    ended = started(short / "data", short / "shared")

    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines() == ["cliffwatch", str(short / "data" / "postgresql")]


@pytest.mark.parametrize("name", ["with; two spaces", "l" * 120], ids=["odd", "long"])
def test_a_path_that_is_too_odd_or_too_long_for_a_socket_gets_a_folder_of_this_user(
    tmp_path: Path, short: Path, name: str
) -> None:
    ended = started(tmp_path / name, short)

    assert ended.returncode == 0, ended.stderr
    database, folder = ended.stdout.splitlines()
    assert database == "cliffwatch"
    home = short / f"cliffwatch-{os.geteuid()}"
    assert Path(folder).parent == home
    assert home.stat().st_uid == os.geteuid()
    assert not home.stat().st_mode & 0o022
    assert not Path(folder).stat().st_mode & 0o022


def test_a_temporary_folder_with_a_long_path_holds_no_socket(tmp_path: Path) -> None:
    temporary = tmp_path / ("t" * 90)
    temporary.mkdir()

    ended = started(tmp_path / ("l" * 120), temporary)

    assert ended.returncode == 0, ended.stderr
    socket_folder = Path(ended.stdout.splitlines()[1])
    assert socket_folder.parent == Path(f"/tmp/cliffwatch-{os.geteuid()}")
    subprocess.run(["rm", "-r", str(socket_folder)], check=True)


def test_a_link_that_somebody_put_in_the_sockets_place_is_refused(
    tmp_path: Path, short: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (short / "elsewhere").mkdir()
    (short / f"cliffwatch-{os.geteuid()}").symlink_to(short / "elsewhere")
    monkeypatch.setattr(tempfile, "tempdir", str(short))

    with pytest.raises(Refusal, match="remove it, or set TMPDIR"):
        start_embedded(tmp_path / ("l" * 120))
    assert list((short / "elsewhere").iterdir()) == []


def test_data_of_another_user_are_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data" / "postgresql").mkdir(parents=True)
    monkeypatch.setattr(os, "geteuid", lambda: 4242)

    with pytest.raises(Refusal, match=r"postgresql belongs to .*; name a folder of yours with --data-dir"):
        start_embedded(tmp_path / "data")


def test_a_data_directory_that_cannot_be_made_is_said_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    argv = [str(Path(sys.executable).parent / "cliffwatch"), "serve", "--port", "0", "--data-dir"]
    ended = subprocess.run(
        [*argv, str(tmp_path / "file" / "data")], capture_output=True, text=True, check=False
    )

    assert ended.returncode == 4
    assert "cannot be created (Not a directory); name a folder of yours with --data-dir" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_the_client_programs_are_found_without_a_warning_of_a_folder_that_is_not_used() -> None:
    code = "from cliffwatch_service.postgres.embedded import client_programs; print(client_programs())"
    env = {name: value for name, value in os.environ.items() if name != "XDG_RUNTIME_DIR"}
    found = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert Path(found.stdout.strip()).name == "bin"
    assert found.stderr == ""
