"""tools/install-packages.sh: installs what is missing, as root or by sudo, and says what root must do where
it cannot.
"""

import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "tools" / "install-packages.sh"


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """A folder of programs that play Debian: `installed` lists the packages, apt-get adds to it, `called` has
    the calls.
    """
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("bash", "cat", "dirname", "env", "flock", "grep", "sed"):
        (programs / name).symlink_to(f"/usr/bin/{name}")
    play(programs, "id", "echo 1000")
    play(programs, "apt-cache", "exit 0")
    play(programs, "dpkg-query", f'grep -qx -- "${{@: -1}}" {tmp_path}/installed && printf "ii "')
    apt = (
        f'echo "apt-get $*" >> {tmp_path}/called\nfor word; do case $word in -*|*=*|update|install) ;; *)'
        ' echo "$word" ;; esac; done'
    )
    play(programs, "apt-get", f"{apt} >> {tmp_path}/installed")
    (tmp_path / "installed").write_text("python3\npython3-venv\ngit\n")
    (tmp_path / "called").touch()
    return tmp_path


def play(programs: Path, name: str, body: str) -> None:
    (programs / name).write_text(f"#!/usr/bin/bash\n{body}\n")
    (programs / name).chmod(0o755)


def install(host: Path, *groups: str) -> "subprocess.CompletedProcess[str]":
    env = {**os.environ, "PATH": str(host / "bin")}
    return subprocess.run([str(SCRIPT), *groups], env=env, capture_output=True, text=True, check=False)


def test_where_nothing_is_missing_nobody_need_be_root(host: Path) -> None:
    with (host / "installed").open("a") as file:
        file.write("ca-certificates\n")

    ended = install(host, "python")

    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
    assert (host / "called").read_text() == ""


@pytest.mark.parametrize("sudo", [None, "exit 1"], ids=["absent", "refused"])
def test_who_cannot_become_root_reads_what_root_must_run(host: Path, sudo: str | None) -> None:
    if sudo is not None:
        play(host / "bin", "sudo", sudo)

    ended = install(host, "python", "lint")

    assert ended.returncode == 4
    assert ended.stderr.splitlines()[-1].split() == [
        *("apt-get", "install", "--no-install-recommends", "ca-certificates", "shellcheck")
    ]
    assert (host / "called").read_text() == ""


def test_an_ordinary_user_installs_by_sudo(host: Path) -> None:
    play(host / "bin", "sudo", f'[ "$1" != -v ] || exit 0\necho sudo >> {host}/called\nexec "$@"')

    ended = install(host, "lint")

    assert ended.returncode == 0, ended.stderr
    calls = (host / "called").read_text().splitlines()
    assert calls[0] == "sudo"
    assert calls[-1].endswith("install --no-install-recommends shellcheck")


def test_what_another_user_left_in_the_temporary_folder_is_in_nobodys_way(
    host: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = host / "tmp"
    (temporary / "cliffwatch-packages.1000.lock").mkdir(parents=True)
    monkeypatch.setenv("TMPDIR", str(temporary))
    play(host / "bin", "sudo", '[ "$1" != -v ] || exit 0\nexec "$@"')

    assert install(host, "lint").returncode == 0
    assert [path.name for path in temporary.iterdir()] == ["cliffwatch-packages.1000.lock"]
