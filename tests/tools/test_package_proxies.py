"""Packages of the distribution are fetched through the proxy that the user names, whom sudo does not ask."""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROGRAMS = {
    "id": "echo 1000",
    "dpkg-query": "exit 1",
    "apt-cache": "exit 0",
    "sudo": '[ "$1" = -v ] || exec env -i PATH="$PATH" "$@"',
    "apt-get": (
        'echo "$http_proxy" >> "${0%/*}/proxies"; case $* in *install*) exit "$(cat "${0%/*}/status")" ;;'
        " esac"
    ),
}


def install(folder: Path, status: int) -> subprocess.CompletedProcess[str]:
    """With an apt-get that notes its proxy and ends with this status."""
    for name, script in PROGRAMS.items():
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)
    (folder / "status").write_text(str(status))
    env = {"PATH": f"{folder}:{os.environ['PATH']}", "http_proxy": "http://proxy.example.org:3128"}
    argv = [ROOT / "tools/install-packages.sh", "lint"]
    return subprocess.run(argv, env=env, capture_output=True, text=True, check=False)


def test_apt_follows_the_proxy_of_a_user_behind_sudo(tmp_path: Path) -> None:
    done = install(tmp_path, 0)

    assert done.returncode == 0, done.stderr
    assert set((tmp_path / "proxies").read_text().split()) == {"http://proxy.example.org:3128"}


def test_a_failure_names_the_packages_and_how_a_proxy_is_named(tmp_path: Path) -> None:
    done = install(tmp_path, 100)

    assert done.returncode == 4
    assert "could not install: shellcheck" in done.stderr
    assert "http_proxy=http://HOST:PORT" in done.stderr
