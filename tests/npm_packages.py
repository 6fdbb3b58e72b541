"""What is made of npm's packages: fetched once for each lock file into a folder of the user, of which only the
parts that are asked for stay.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path


class NotFetchedError(Exception):
    """npm is missing or finds no registry; says which, and what to do."""


def made_of_packages(name: str, sources: Path, make: Callable[[Path, Path], None]) -> Path:
    """The folder that `make(work, made)` filled: `work` holds the files of `sources` and node_modules, and is
    gone afterwards. Made anew when one of these files changes. Raises NotFetchedError.
    """
    files = sorted(path for path in sources.iterdir() if path.is_file() and path.suffix != ".py")
    content = b"".join(path.name.encode() + path.read_bytes() for path in files)
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = caches / "cliffwatch-tests" / f"{name}-{hashlib.sha256(content).hexdigest()[:16]}"
    work, made = folder / "work", folder / "made"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        if not (folder / "complete").exists():
            for old in (work, made):
                shutil.rmtree(old, ignore_errors=True)
                old.mkdir()
            for path in files:
                shutil.copy(path, work)
            _fetch(name, work)
            make(work, made)
            shutil.rmtree(work)
            (folder / "complete").touch()
    return made


def _fetch(name: str, work: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise NotFetchedError(
            f"{name} is made of npm's packages, and npm is not installed: make test-programs"
        )
    argv = [npm, "ci", "--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund", "--silent"]
    done = subprocess.run(argv, cwd=work, capture_output=True, text=True, check=False, timeout=600)
    if done.returncode:
        said = (done.stderr or done.stdout).strip()[-300:]
        raise NotFetchedError(f"{name} could not be fetched by npm: {said}")
