"""Shows a sandbox the programs that this host has outside /usr, such as a clang in /opt or in a home."""

import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from cliffwatch.failure import Failure, host_failed
from cliffwatch_runner import process
from cliffwatch_runner.sandbox.sandbox import HOME, SEARCH_PATH, Sandbox

_BESIDE = ("lib", "lib64", "libexec", "share/qemu")
_SHARED = (HOME, Path("/var/tmp"), Path("/opt"), Path("/srv"), Path("/root"))  # noqa: S108
_TRIAL_SECONDS = 120.0
_TRIAL = (
    'for program; do said=$("$program" --version 2>&1 </dev/null) ||'
    ' { printf "%s\\n%s\\n" "$program" "$said"; exit 1; }; done'
)


def show_programs(sandbox: Sandbox, tools: Sequence[str], others: Sequence[str]) -> Sandbox | Failure:
    """Returns the sandbox with these programs of the host in its view, or which of the tools does not start.

    The view has /usr. Of a program elsewhere it gets the folder, unless that is a home, and the libraries
    beside that: of /opt/llvm/bin/clang, /opt/llvm/bin and /opt/llvm/lib. A script that calls a program
    elsewhere fails the trial, in which each tool prints its version.
    """
    if sandbox.image is not None:
        return sandbox
    shown = add_programs(sandbox, (*tools, *others))
    # A compiler may be ccache, which wants a home before it says anything.
    env = {"PATH": shown.search_path, "HOME": str(HOME), "CCACHE_DISABLE": "1"}
    # By their paths: who cannot read one would find another program of its name in /usr.
    paths = dict.fromkeys(where for tool in tools if (where := shutil.which(tool)))
    trial = ["sh", "-c", _TRIAL, "sh", *paths]
    ended = process.run(
        shown.argv(trial, env=env, mounts=(), workdir=HOME),
        env=shown.process_input(),
        deadline=_TRIAL_SECONDS,
    )
    return shown if ended.ok else _unseen(shown, ended)


def add_programs(sandbox: Sandbox, names: Sequence[str]) -> Sandbox:
    """Returns the sandbox with these programs in its view, as far as this host has them."""
    found = [Path(where).absolute() for name in names if (where := shutil.which(name))]
    view = dict.fromkeys(each for path in found for each in _shown_of(path))
    usual = {Path(folder).resolve() for folder in SEARCH_PATH.split(":")}
    searched = dict.fromkeys(path.parent for path in found if path.parent.resolve() not in usual)
    return replace(sandbox, programs=tuple(view), searched=tuple(searched))


def _shown_of(program: Path) -> Iterator[Path]:
    """Yields what the view needs of a program outside /usr; of a link, of its target as well."""
    for path in dict.fromkeys((program, program.resolve())):
        folder = path.parent
        if folder.resolve().is_relative_to("/usr"):
            continue
        yield path if _is_shared(folder) else folder
        if folder.name in ("bin", "sbin"):
            yield from (each for name in _BESIDE if (each := folder.parent / name).is_dir())


def _is_shared(folder: Path) -> bool:
    """True for homes, folders above them and folders of temporary files: there only the program is shown."""
    # Of a user without a home it stays "~".
    home = Path(os.path.expanduser("~"))  # noqa: PTH111 - Path.home() raises for such a user
    return folder in (home, *home.parents, *_SHARED) or folder.parent == Path("/home")


def _unseen(sandbox: Sandbox, ended: process.Finished) -> Failure:
    where, _, said = ended.output.partition("\n")
    if not Path(where).is_absolute():
        return host_failed(
            "the sandbox of builds does not start", "run `cliffwatch doctor`", ended.output[-2000:]
        )
    place = f"as user {sandbox.uid}, which builds run as"
    if sandbox.level == "bubblewrap":
        place = f"in the sandbox of builds, which can read {', '.join(('/usr', *map(str, sandbox.programs)))}"
    return host_failed(
        f"{Path(where).name} ({where}) runs here, but not {place}",
        f"install {Path(where).name} in /usr; or, if that is a script, give the path of the program it calls;"
        " or build in a container image that has it: --build-image IMAGE",
        said[-2000:],
    )
