"""GitHub's description of itself, as npm has it: fetched once for each lock file into a folder
of the user.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

_HERE = Path(__file__).parent
_KEPT = (
    "openapi/generated/api.github.com.json",
    "webhooks-examples/api.github.com/index.json",
    "webhooks-schemas/schema.json",
)


@cache
def octokit() -> Path:
    """The folder with the packages of @octokit. Without npm, or where it finds no registry, the test is
    skipped.
    """
    lock = (_HERE / "package-lock.json").read_bytes()
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = caches / "cliffwatch-tests" / f"github-{hashlib.sha256(lock).hexdigest()[:16]}"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        if not (folder / "complete").exists():
            _fetch(folder)
    return folder / "octokit"


def _fetch(folder: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip(
            "GitHub's OpenAPI description is fetched by npm, and npm is not installed: make test-programs"
        )
    for name in ("package.json", "package-lock.json"):
        shutil.copy(_HERE / name, folder / name)
    argv = [npm, "ci", "--prefix", str(folder), "--ignore-scripts", "--no-audit", "--no-fund", "--silent"]
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=False, timeout=600)
    if done.returncode:
        pytest.skip(
            "GitHub's OpenAPI description could not be fetched by npm:"
            f" {(done.stderr or done.stdout).strip()[-300:]}"
        )
    for name in _KEPT:
        target = folder / "octokit" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(folder / "node_modules" / "@octokit" / name, target)
    shutil.rmtree(folder / "node_modules")
    (folder / "complete").touch()
