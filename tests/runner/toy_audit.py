"""Audits of three releases of the toy tree, for tests of `cliffwatch releases`."""

from pathlib import Path

from click.testing import CliRunner, Result
from isolation_here import ISOLATION, leave_out_root
from toy import change, git

from cliffwatch_runner.command.releases.releases import releases


def three_releases(repository: Path) -> Path:
    """Adds 6.13, which is slower, and 6.14, where a benchmark kills the kernel."""
    release(repository, 13, "slow\n")
    release(repository, 14, "panic-in local-storage-cache-int-get\n")
    return repository


def release(repository: Path, patchlevel: int, behaviour: str) -> None:
    makefile = (
        (repository / "Makefile")
        .read_text()
        .replace(f"PATCHLEVEL = {patchlevel - 1}", f"PATCHLEVEL = {patchlevel}")
    )
    change(repository, "Makefile", makefile, f"Linux 6.{patchlevel}")
    change(repository, "behaviour", behaviour, f"bpf: 6.{patchlevel}")
    git(repository, "tag", f"v6.{patchlevel}")


def audit(
    history: Path, folder: Path, *words: str, tags: tuple[str, ...] = ("v6.14", "v6.12", "v6.13")
) -> Result:
    leave_out_root()
    trees = [word for tag in tags for word in ("--tree", f"{history}@{tag}")]
    options = ("--cache", str(folder / "cache"), "--out", str(folder / "out"), "--isolation", ISOLATION)
    return CliRunner().invoke(releases, [*trees, "--suite", "local-storage", *options, *words])


def report_only(out: Path) -> Result:
    return CliRunner().invoke(releases, ["--out", str(out), "--report-only"])
