"""Runs go on modules that anybody may have chosen, in a sandbox without network.

The sandbox's only exit leads to the module proxies of this host. There go has none of this user's settings
and credentials, runs no program to fetch with, and contacts no address from a go.mod.
"""

import os
import re
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

from cliffwatch.failure import Failure
from cliffwatch.trees.addresses import without_credentials
from cliffwatch_runner import process
from cliffwatch_runner.build.cache.entries import Stopped
from cliffwatch_runner.build.programs.module_relay import ModuleProxies, module_proxies, module_relay
from cliffwatch_runner.host.programs import find_go_root
from cliffwatch_runner.sandbox.guard import guard_sandbox
from cliffwatch_runner.sandbox.limits import SandboxLimits
from cliffwatch_runner.sandbox.sandbox import Mount, Sandbox

FIXED: Mapping[str, str] = {"GOTOOLCHAIN": "local", "GOWORK": "off", "GO111MODULE": "on"}

_SECONDS = 900.0
_HOME = Path("/cliffwatch/modules")
_PROXIES = Path("/cliffwatch/proxies")
_GO = Path("/opt/go")
_ASK_SECONDS = 60.0
_RELAY = re.compile(r"http://127\.0\.0\.1:\d{1,5}/(\d)(?=/)", re.ASCII)


def run_go_confined(
    argv: Sequence[str],
    home: Path,
    folders: Sequence[Path],
    sandbox: Sandbox,
    limits: SandboxLimits,
    should_stop: Callable[[], bool],
) -> process.Finished | Failure:
    """Runs a go command in the folder `suite` of `home`, which it may write to.

    It sees `folders` beside that folder as module-0, module-1, …. Raises Stopped, FileNotFoundError if go is
    missing, OSError.
    """
    root = find_go_root()
    if root is None:
        raise FileNotFoundError("go")
    proxies = module_proxies(_setting("GOPROXY"), _setting("GOSUMDB"))
    _prepare(home, sandbox)
    view = _HOME if sandbox.fixed_paths else home
    mounts = [
        Mount(source=home, target=view, writable=True),
        Mount(source=home / "given", target=view / "given"),
        *_mounts(root, folders, proxies),
    ]
    command = [
        *(_python(), str(view / "given" / "relayed.py"), str(view / "given" / "relay")),
        *(f"{name}={value}" for name, value in _settings(proxies, view, fixed=sandbox.fixed_paths).items()),
        *("--", *argv),
    ]
    environment = {
        **FIXED,
        "PATH": f"{_GO if sandbox.fixed_paths else root}/bin:/usr/bin:/bin",
        "HOME": str(view),
    }
    with (
        module_relay(proxies.urls, home / "given" / "relay"),
        guard_sandbox(limits, [home], user=sandbox.uid) as guard,
    ):
        ended = process.run(
            guard.argv(sandbox.argv(command, env=environment, mounts=mounts, workdir=view / "suite")),
            env=sandbox.process_input(),
            deadline=_SECONDS,
            on_start=guard.begin,
            should_stop=lambda: should_stop() or guard.should_stop(),
        )
        failure = guard.failure("go")
    if failure is None and ended.stopped:
        raise Stopped
    return replace(ended, output=_with_proxies(ended.output, proxies)) if failure is None else failure


def _with_proxies(said: str, proxies: ModuleProxies) -> str:
    """Returns go's output with the proxies' addresses in place of the relay's."""

    def named(match: re.Match[str]) -> str:
        number = int(match[1])
        return without_credentials(proxies.urls[number]) if number < len(proxies.urls) else match[0]

    return _RELAY.sub(named, said)


def _setting(name: str) -> str:
    """Returns a go setting of this host, from the environment or from `go env -w`."""
    if name in os.environ:
        return os.environ[name]
    root = find_go_root()
    asked = process.run([f"{root}/bin/go", "env", name], deadline=_ASK_SECONDS, env={**os.environ, **FIXED})
    return asked.output.strip() if asked.ok else ""


def _settings(proxies: ModuleProxies, view: Path, *, fixed: bool) -> dict[str, str]:
    goproxy = proxies.goproxy
    for number, folder in enumerate(proxies.folders):
        goproxy = goproxy.replace(f"{{folder{number}}}", str(_PROXIES / str(number) if fixed else folder))
    return {
        "GOPROXY": goproxy,
        "GOSUMDB": proxies.gosumdb,
        "GONOSUMDB": os.environ.get("GONOSUMDB", ""),
        "GOVCS": "*:off",
        "GOAUTH": "off",
        "GOENV": "off",
        "GOFLAGS": "-modcacherw",
        "GOTELEMETRY": "off",
        "GOMODCACHE": str(view / "modcache"),
        "GOCACHE": str(view / "gocache"),
    }


def _mounts(root: Path, folders: Sequence[Path], proxies: ModuleProxies) -> list[Mount]:
    python = Path(sys.base_prefix).resolve()
    return [
        Mount(source=root, target=_GO),
        *([] if python.is_relative_to("/usr") else [Mount(source=python, target=python)]),
        *(
            Mount(source=folder.absolute(), target=_HOME / f"module-{number}")
            for number, folder in enumerate(folders)
        ),
        *(Mount(source=each, target=_PROXIES / str(number)) for number, each in enumerate(proxies.folders)),
    ]


def _python() -> str:
    """Returns the interpreter that runs this process, without its virtual environment."""
    return str(Path(sys.executable).resolve())


def _prepare(home: Path, sandbox: Sandbox) -> None:
    """Gives the sandbox's user the folder `home`, with the program that runs go in it."""
    given = home / "given"
    if given.exists():
        return
    given.mkdir()
    shutil.copyfile(str(files("cliffwatch_runner.build.programs") / "relayed.py"), given / "relayed.py")
    for path in (home, *home.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() else 0o644)
            sandbox.give(path)
