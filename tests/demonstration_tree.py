"""The two revisions of `make demo` in git: the distribution's kernel source, and the same with the example's
patch.
"""

import subprocess
import sys
from pathlib import Path

from isolation_here import ISOLATION, leave_out_root

from cliffwatch_runner.command.options.cache import default_cache

PATCH = Path(__file__).parents[1] / "examples" / "uninline-local-storage-lookup.patch"
CLIFFWATCH = Path(sys.executable).parent / "cliffwatch"


def git(tree: Path, *words: str) -> str:
    return subprocess.run(
        ["git", "-C", str(tree), *words], check=True, capture_output=True, text=True
    ).stdout.strip()


def write_demonstration_tree(folder: Path) -> tuple[str, str]:
    """Makes `folder` a repository whose master is the patched kernel; returns base and head. Its objects lie
    in the user's mirror.
    """
    found = sorted(Path("/usr/src").glob("linux-source-*.tar.*"))
    assert found, "there is no kernel source under /usr/src: tools/install-packages.sh source"
    leave_out_root()
    mirror = default_cache() / "mirror.git"
    argv = [
        str(CLIFFWATCH),
        "run",
        "--tree",
        str(found[-1]),
        "--base",
        "HEAD",
        "--head",
        "HEAD",
        "--patch",
        str(PATCH),
    ]
    argv += ["--isolation", ISOLATION, "--mode", "icount", "--dry-run"]
    planned = subprocess.run(argv, check=True, capture_output=True, text=True)
    lines = [line.split() for line in planned.stdout.splitlines()]
    short = [line[1] for name in ("base", "head") for line in lines if line[:1] == [name]]
    names = git(mirror, "for-each-ref", "--format=%(objectname)", "refs/cliffwatch").split()
    base, head = (next(name for name in names if name.startswith(each)) for each in short)
    subprocess.run(["git", "init", "--quiet", "--initial-branch=master", str(folder)], check=True)
    (folder / ".git/objects/info/alternates").write_text(f"{mirror}/objects\n")
    git(folder, "update-ref", "refs/heads/master", head)
    return base, head
