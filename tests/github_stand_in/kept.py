"""What the stand-in keeps, and what others do on GitHub meanwhile: tests change it as people would."""

import itertools
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any


@dataclass
class Comment:
    """A comment of a pull request; `reactions` are pairs of login and content."""

    identity: int
    number: int
    login: str
    body: str
    made: float
    edits: int = 0
    reactions: list[tuple[str, str]] = field(default_factory=list)


@dataclass
class Issue:
    """An issue, which is no pull request."""

    number: int
    title: str
    body: str
    login: str
    state: str = "open"
    locked: bool = False
    association: str = "NONE"


@dataclass
class CheckRun:
    """A check run: `app` is who made it, `content` what it was last made of."""

    identity: int
    app: str
    head: str
    content: dict[str, Any]


@dataclass
class Commit:
    """A commit with the files that it changes against its first parent (path to text; None removes it)."""

    sha: str
    message: str
    parents: tuple[str, ...] = ()
    login: str = "octocat"
    files: dict[str, str | None] = field(default_factory=dict)


@dataclass
class Pull:
    """A pull request. `head_repository` differs from its own repository where it comes from a fork."""

    number: int
    title: str
    login: str
    base_branch: str
    base: str
    head_branch: str
    head: str
    head_repository: str
    association: str = "CONTRIBUTOR"
    body: str = ""
    state: str = "open"
    locked: bool = False
    draft: bool = False


@dataclass
class Repository:
    """A repository. `permissions` by login: admin, write, read or none."""

    name: str
    identity: int
    private: bool = False
    default_branch: str = "master"
    permissions: dict[str, str] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)
    commits: dict[str, Commit] = field(default_factory=dict)
    pulls: dict[int, Pull] = field(default_factory=dict)
    issues: dict[int, Issue] = field(default_factory=dict)
    comments: dict[int, Comment] = field(default_factory=dict)
    checks: dict[int, CheckRun] = field(default_factory=dict)
    artifacts: dict[int, tuple[int, str, bytes]] = field(default_factory=dict)

    def commit(self, sha: str, message: str = "a change", *parents: str, **files: Any) -> Commit:
        """Adds a commit; `files` may be given as `files={path: text}`."""
        self.commits[sha] = Commit(
            sha, message, parents, files=files.get("files", {}), login=files.get("login", "octocat")
        )
        return self.commits[sha]

    def files_at(self, sha: str) -> dict[str, str]:
        """All files of a commit."""
        commit = self.commits[sha]
        files = (
            self.files_at(commit.parents[0]) if commit.parents and commit.parents[0] in self.commits else {}
        )
        for path, text in commit.files.items():
            files.pop(path, None)
            if text is not None:
                files[path] = text
        return files

    def history(self, sha: str) -> list[str]:
        """A commit and all that it descends from, each once, children before parents by breadth."""
        seen, waiting = dict[str, None](), [sha]
        while waiting:
            current = waiting.pop(0)
            if current in self.commits and current not in seen:
                seen[current] = None
                waiting += self.commits[current].parents
        return list(seen)

    def resolve(self, ref: str) -> str | None:
        """The commit of a branch, a full or an abbreviated hash."""
        ref = ref.removeprefix("refs/").removeprefix("heads/")
        if ref in self.branches:
            return self.branches[ref]
        found = [sha for sha in self.commits if len(ref) >= 7 and sha.startswith(ref)]
        return found[0] if len(found) == 1 else None


@dataclass
class Installation:
    """The app on an account. A revoked one is gone for GitHub, a suspended one answers 403."""

    identity: int
    account: str
    repositories: list[str]
    revoked: bool = False
    suspended: bool = False
    permissions: dict[str, str] = field(
        default_factory=lambda: {
            "checks": "write",
            "contents": "read",
            "issues": "write",
            "metadata": "read",
            "pull_requests": "write",
        }
    )


@dataclass
class Token:
    """A token that acts as `login`; `installation` is None for one that no installation made, such as that of
    a workflow.
    """

    secret: str
    login: str
    expires: float
    installation: int | None = None


@dataclass
class App:
    """The app: `public_key` in PEM checks its JSONs' signatures; None lets every JWT pass that
    names the app.
    """

    identity: int = 1234
    slug: str = "cliffwatch"
    public_key: str | None = None
    webhook: dict[str, str] = field(default_factory=dict)
    conversions: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def login(self) -> str:
        return f"{self.slug}[bot]"


class Kept:
    """All of it. `lock` is held for each request, so that a test may look and change at any time."""

    token_seconds = 3600.0

    def __init__(self, now: Callable[[], float]) -> None:
        self.now = now
        self.lock = threading.RLock()
        self.app = App()
        self.repositories: dict[str, Repository] = {}
        self.installations: dict[int, Installation] = {}
        self.tokens: dict[str, Token] = {}
        self.renamed: dict[str, str] = {}
        self._numbers = itertools.count(1000)

    def number(self) -> int:
        return next(self._numbers)

    def repository(self, name: str, **more: Any) -> Repository:
        """Makes a repository `owner/name`."""
        self.repositories[name] = Repository(name, self.number(), **more)
        return self.repositories[name]

    def rename(self, before: str, name: str) -> None:
        """Somebody renames a repository, or gives it to another account: what is asked under the old name is
        redirected.
        """
        self.repositories[name] = self.repositories.pop(before)
        self.repositories[name].name = name
        self.renamed[before] = name
        for each in self.installations.values():
            each.repositories = [name if known == before else known for known in each.repositories]

    def install(self, *repositories: str) -> Installation:
        """Puts the app on repositories of one account."""
        identity = self.number()
        self.installations[identity] = Installation(
            identity, repositories[0].split("/")[0], list(repositories)
        )
        return self.installations[identity]

    def token(self, login: str, *, seconds: float | None = None, installation: int | None = None) -> str:
        """Makes a token of a user, a workflow (`github-actions[bot]`) or an installation."""
        secret = f"ghs_{self.number():036d}"
        self.tokens[secret] = Token(secret, login, self.now() + (seconds or self.token_seconds), installation)
        return secret

    def pull(self, repository: str, *, head: str = "2" * 40, base: str = "1" * 40, **more: Any) -> Pull:
        """Makes a pull request with its commits, where they are not there yet."""
        kept = self.repositories[repository]
        number = max([*kept.pulls, *kept.issues], default=0) + 1
        kept.branches.setdefault(kept.default_branch, base)
        if base not in kept.commits:
            kept.commit(base, "base")
        if head not in kept.commits:
            kept.commit(head, "bpf: a change", base, files={"kernel/bpf/core.c": "int changed;\n"})
        values = {
            "title": "A change",
            "login": "octocat",
            "base_branch": kept.default_branch,
            "head_branch": "topic",
            "head_repository": repository,
        }
        kept.pulls[number] = Pull(number=number, base=base, head=head, **{**values, **more})
        return kept.pulls[number]

    def issue(self, repository: str, login: str, title: str, body: str) -> Issue:
        """Makes an issue, with the next number of issues and pull requests."""
        kept = self.repositories[repository]
        number = max([*kept.pulls, *kept.issues], default=0) + 1
        kept.issues[number] = Issue(number, title, body, login)
        return kept.issues[number]

    def comment(self, repository: str, number: int, login: str, body: str) -> Comment:
        """Somebody writes a comment."""
        kept = self.repositories[repository]
        made = Comment(self.number(), number, login, body, self.now())
        kept.comments[made.identity] = made
        return made

    def comments_of(self, repository: str, number: int, login: str | None = None) -> list[Comment]:
        """The comments of a pull request, oldest first, all or somebody's."""
        found = self.repositories[repository].comments.values()
        return [each for each in found if each.number == number and login in (None, each.login)]


def moment(seconds: float) -> str:
    """As GitHub writes times."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
