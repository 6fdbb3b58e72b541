"""Links to the web pages of commits. The service never fetches them."""

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
    """Returns the URL of a commit's web page; None for hosts other than GitHub and git.kernel.org."""
    for pattern, address in _COMMIT_PAGES:
        match = pattern.fullmatch(tree or "")
        if match and _COMMIT.fullmatch(commit):
            return address.format(match.group(1), commit)
    return None
