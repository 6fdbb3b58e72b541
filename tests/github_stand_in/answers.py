"""How the stand-in answers: the published examples, merged with what it keeps. An operation without an entry
here is answered by its example alone where it reads; where it writes, by 501, so that nobody takes it for
done.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from github_stand_in.description import Description, Read
from github_stand_in.kept import Issue, Kept, Pull, Repository, Token


@dataclass
class Answer:
    """A status, the JSON (None for no content) and further headers. `page` cuts a list into the pages that
    were asked for.
    """

    status: int
    content: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes | None = None


@dataclass(frozen=True)
class Caller:
    """Who asks: `app` with a JWT of the app, else the holder of a token; both are missing where nobody signed
    in.
    """

    app: bool = False
    token: Token | None = None

    @property
    def login(self) -> str:
        return self.token.login if self.token else ""


@dataclass(frozen=True)
class Question:
    """A request, read, with everything that an answer is made of. `url` is its own without a query, below
    `origin`.
    """

    kept: Kept
    description: Description
    read: Read
    caller: Caller
    origin: str
    url: str

    def example(self, status: int, name: str | None = None) -> Any:
        return self.description.example(self.read.operation, status, name)

    @property
    def repository(self) -> Repository | None:
        """The one that the path names, where the caller may see it."""
        name = f"{self.read.path['owner']}/{self.read.path['repo']}".lower()
        found = next((each for key, each in self.kept.repositories.items() if key.lower() == name), None)
        if found is None or not found.private or self._installed(found):
            return found
        return None

    def _installed(self, repository: Repository) -> bool:
        token = self.caller.token
        if token is None or token.installation is None:
            return token is not None
        return repository.name in self.kept.installations[token.installation].repositories

    def may_write(self, repository: Repository) -> bool:
        return self._installed(repository)

    def pull(self, repository: Repository, name: str) -> Pull | None:
        return repository.pulls.get(self.read.path[name])

    def conversation(self, repository: Repository) -> Pull | Issue | None:
        """What has comments: they are numbered together."""
        number = self.read.path["issue_number"]
        return repository.pulls.get(number) or repository.issues.get(number)


Handler = Callable[[Question], Answer]
HANDLERS: dict[str, Handler] = {}


def answers(operation: str) -> Callable[[Handler], Handler]:
    """Enters a function as the answer of an operation, by its operationId."""

    def enter(handler: Handler) -> Handler:
        HANDLERS[operation] = handler
        return handler

    return enter


def merged(example: Any, kept: Mapping[str, Any]) -> Any:
    """An example in which what is kept takes the place of what it says, object by object."""
    result = dict(example)
    for key, value in kept.items():
        both = isinstance(value, dict) and isinstance(result.get(key), dict)
        result[key] = merged(result[key], value) if both else value
    return result


def refused(status: int, message: str, **more: Any) -> Answer:
    """An answer as GitHub refuses."""
    content = {
        "message": message,
        "documentation_url": "https://docs.github.com/rest",
        "status": str(status),
        **more,
    }
    return Answer(status, content)


NOT_FOUND = refused(404, "Not Found")


def paged(
    question: Question, items: list[Any], wrapped: Callable[[list[Any]], Any] = lambda items: items
) -> Answer:
    """One page of a list, with the Link header to the others."""
    size, page = question.read.query.get("per_page", 30), question.read.query.get("page", 1)
    pages = max(1, -(-len(items) // size))
    links = []
    for relation, number in (("prev", page - 1), ("next", page + 1), ("last", pages), ("first", 1)):
        outside = (
            not 1 <= number <= pages
            or (relation in ("first", "prev") and page == 1)
            or (relation == "last" and page >= pages)
        )
        if not outside:
            more = "".join(
                f"&{name}={value}"
                for name, value in question.read.query.items()
                if name not in ("page", "per_page")
            )
            links.append(f'<{question.url}?per_page={size}&page={number}{more}>; rel="{relation}"')
    return Answer(
        200, wrapped(items[(page - 1) * size : page * size]), {"link": ", ".join(links)} if links else {}
    )


def answer(question: Question) -> Answer:
    """What GitHub would say."""
    operation = question.read.operation
    handler = HANDLERS.get(operation.name)
    if handler is not None:
        return handler(question)
    read_only = 200 in question.description.answers(operation) and "requestBody" not in operation.content
    if read_only and operation.name.split("/")[1].startswith(("get", "list")):
        return Answer(200, question.example(200))
    return refused(501, f"the stand-in does not do {operation.name}")
