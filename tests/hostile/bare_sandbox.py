"""A sandbox as builds run in, and no more of it than the tests of its limits and of its filter need."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from cliffwatch_runner.sandbox.control_groups import make_group

FOLDER = Path("/given")
NOBODYS = 64750
"""Whom root becomes in it."""

user = NOBODYS if os.geteuid() == 0 else os.geteuid()


def sandboxed(folder: Path, command: Sequence[str]) -> list[str]:
    """The command in namespaces of its own, as an ordinary user, in `folder`, which it may write to."""
    links = [Path("/bin"), Path("/sbin"), Path("/lib"), Path("/lib64")]
    argv = ["bwrap", "--unshare-all", "--die-with-parent", "--clearenv"]
    argv += ["--proc", "/proc", "--dev", "/dev", "--ro-bind", "/usr", "/usr"]
    argv += [word for place in ("/tmp", "/dev/shm") for word in ("--perms", "1777", "--tmpfs", place)]
    argv += [word for place in ("/etc", "/var", "/run", "/home", str(FOLDER)) for word in ("--dir", place)]
    argv += ["--ro-bind-try", "/etc/alternatives", "/etc/alternatives"]
    for link in links:
        if link.is_symlink():
            argv += ["--symlink", str(link.readlink()), str(link)]
    variables = {
        "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": "/tmp",
        "CCACHE_DIR": str(FOLDER / "ccache"),
    }
    argv += [word for name, value in variables.items() for word in ("--setenv", name, value)]
    argv += ["--bind", str(folder), str(FOLDER), "--chdir", str(FOLDER)]
    if os.geteuid() != 0:
        return [*argv, "--", *command]
    argv[1:2] = ["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts"]
    argv += [word for right in ("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP") for word in ("--cap-add", right)]
    os.chown(folder, NOBODYS, NOBODYS)
    dropped = [
        "setpriv",
        "--reuid",
        str(NOBODYS),
        "--regid",
        str(NOBODYS),
        "--clear-groups",
        "--no-new-privs",
    ]
    return [*argv, "--", *dropped, "--bounding-set=-all", "--inh-caps=-all", "--", *command]


def compiled(folder: Path, name: str, source: str, *options: str) -> Path:
    """A program of C, for which nothing need be installed in the sandbox."""
    (folder / f"{name}.c").write_text(source)
    subprocess.run(["gcc", "-static", "-o", folder / name, folder / f"{name}.c", *options], check=True)
    return folder / name


def _works() -> bool:
    if shutil.which("bwrap") is None:
        return False
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run(sandboxed(Path(folder), ["true"]), check=False).returncode == 0


needs_namespaces = pytest.mark.skipif(
    not _works(), reason="bubblewrap is missing, or this host lets it make no namespaces"
)


def _may_make_groups() -> bool:
    group = make_group(64 << 20, 8)
    if group is not None:
        group.remove()
    return group is not None


needs_groups = pytest.mark.skipif(not _may_make_groups(), reason="this user may make no control groups here")
