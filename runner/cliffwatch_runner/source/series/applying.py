"""Applies the patches of a series to a base, one commit each.

Equal patches on an equal base give equal commits.
"""

import tempfile
from pathlib import Path

from cliffwatch.failure import Failure, wrong_usage
from cliffwatch_runner.source.git import git
from cliffwatch_runner.source.revision import Revision, commit_tree, describe
from cliffwatch_runner.source.series.mailbox import Series


def apply_series(mirror: Path, base: Revision, series: Series) -> Revision | Failure:
    """Returns the last commit of the applied series.

    The Failure names the patch that does not apply, with git's output.
    """
    commit = base.commit
    with tempfile.TemporaryDirectory(prefix="cliffwatch-series-") as folder:
        env = {"GIT_INDEX_FILE": f"{folder}/index"}
        patch = Path(folder) / "patch"
        read = git(["read-tree", base.commit], git_dir=mirror, env=env)
        for place, each in enumerate(series.patches, start=1):
            patch.write_text(each.text, encoding="utf-8", errors="surrogateescape", newline="")
            applied = git(["apply", "--cached", "--whitespace=nowarn", str(patch)], git_dir=mirror, env=env)
            if not read.ok or not applied.ok:
                name = f"patch {place} of {len(series.patches)} ({each.title})"
                return _not_applied(name, base, (read if not read.ok else applied).output[-2000:])
            tree = git(["write-tree"], git_dir=mirror, env=env).output.strip()
            commit = commit_tree(mirror, tree, each.title or f"patch {place}", parent=commit)
    return describe(mirror, commit)


def _not_applied(name: str, base: Revision, evidence: str) -> Failure:
    if "corrupt patch" in evidence:
        return wrong_usage(
            f"{name} is damaged: a mail program broke or cut its lines",
            "get it as it was sent: b4 am -o . MESSAGE-ID; or ask its sender to use git send-email",
            evidence,
        )
    return wrong_usage(
        f"{name} does not apply to {base.short} ({base.subject})",
        "name the base that the series is for with --base, or rebase the series",
        evidence,
    )
