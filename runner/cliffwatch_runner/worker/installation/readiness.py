"""Checks a host's requirements for an installation before anything is written."""

import importlib.util
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from cliffwatch.failure import Failure, host_failed, wrong_usage
from cliffwatch_runner.sandbox.unprivileged_user import User, find_closed_folder
from cliffwatch_runner.worker.installation.order import CLOSED, InstallationOrder, not_for_services

_ANYBODY = User(uid=65534, gid=65534)


def hindrances(order: InstallationOrder | None, root: Path) -> Iterator[Failure]:
    """Yields why this host cannot take the installation now. A removal has no order.

    For another root than /, only files are written, so nothing else is checked.
    """
    if root != Path("/"):
        if not root.is_dir():
            yield wrong_usage(f"--root: {root} is not a folder", "name the folder with the host's files")
        return
    if os.geteuid() != 0:
        yield wrong_usage(
            "only root can change units, users and permissions",
            'use sudo: sudo "$(command -v cliffwatch)" host …; --dry-run shows what it would do',
        )
    if not Path("/run/systemd/system").is_dir():
        yield host_failed(
            "this host does not run systemd",
            (
                "start `cliffwatch worker` with this host's service manager;"
                " --root DIR writes the files for another host"
            ),
        )
    if order is not None:
        yield from _program(order.program)
    if order is not None and order.tunes and shutil.which("sudo") is None:
        yield host_failed(
            "walltime runs start the tuning helper with sudo, which is not installed", "apt-get install sudo"
        )


def _program(program: Path) -> Iterator[Failure]:
    try:
        target = program.resolve(strict=True)
    except OSError as error:
        yield wrong_usage(
            f"--program: there is no {program}: {error.strerror}",
            "name the `cliffwatch` that the service should start; `make setup` creates .venv/bin/cliffwatch",
        )
        return
    for path in dict.fromkeys((program, target, *(_parts_of_this() if _is_this(program) else ()))):
        if any(path.is_relative_to(folder) for folder in CLOSED):
            yield not_for_services(path)
            return
        closed = find_closed_folder(_ANYBODY, path)
        if closed is not None:
            yield wrong_usage(
                f"the worker's user cannot reach {path}: {closed} is closed to it",
                f"chmod o+rx {closed}, or install Cliffwatch in /opt/cliffwatch",
            )
            return


def _is_this(program: Path) -> bool:
    return program.parent == Path(sys.executable).parent


def _parts_of_this() -> Iterator[Path]:
    """Yields where this Cliffwatch and its Python are: an environment may refer to files elsewhere."""
    yield Path(sys.executable).resolve()
    for name in ("cliffwatch", "cliffwatch_runner"):
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.origin is not None:
            yield Path(spec.origin).resolve()
