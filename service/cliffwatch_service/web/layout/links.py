"""Addresses of commits at the hosts of kernel trees; links only, nothing is ever fetched from there."""

import re

_COMMIT = re.compile(r"[0-9a-f]{7,64}")
_COMMIT_PAGES = (
    (
        re.compile(r"(?:https?|git|ssh)://(?:git@)?github\.com/([\w.-]+/[\w.-]+?)(?:\.git)?/?"),
        "https://github.com/{}/commit/{}",
    ),
    (
        re.compile(r"(?:https?|git)://git\.kernel\.org/(pub/scm/[\w./-]+?\.git)/?"),
        "https://git.kernel.org/{}/commit/?id={}",
    ),
)


def commit_page(tree: str | None, commit: str) -> str | None:
    """Where people read this commit; None where the tree's host is not known to show any."""
    for pattern, address in _COMMIT_PAGES:
        match = pattern.fullmatch(tree or "")
        if match and _COMMIT.fullmatch(commit):
            return address.format(match.group(1), commit)
    return None
