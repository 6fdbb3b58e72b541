"""Comments, reactions and check runs."""

from typing import Any

from github_stand_in.answers import NOT_FOUND, Answer, Question, answers, merged, paged, refused
from github_stand_in.kept import CheckRun, Comment, Repository, moment

LONGEST_BODY = 65_536


def comment_content(question: Question, repository: Repository, comment: Comment, example: Any) -> Any:
    api, page = (
        f"{question.origin}/repos/{repository.name}",
        f"https://github.com/{repository.name}/pull/{comment.number}",
    )
    return merged(
        example,
        {
            "id": comment.identity,
            "url": f"{api}/issues/comments/{comment.identity}",
            "html_url": f"{page}#issuecomment-{comment.identity}",
            "issue_url": f"{api}/issues/{comment.number}",
            "body": comment.body,
            "user": {"login": comment.login, "type": "Bot" if comment.login.endswith("[bot]") else "User"},
            "created_at": moment(comment.made),
            "updated_at": moment(comment.made + comment.edits),
            "author_association": "NONE",
        },
    )


@answers("issues/list-comments")
def list_comments(question: Question) -> Answer:
    repository = question.repository
    if repository is None or question.conversation(repository) is None:
        return NOT_FOUND
    example = question.example(200)[0]
    found = [
        each for each in repository.comments.values() if each.number == question.read.path["issue_number"]
    ]
    return paged(question, [comment_content(question, repository, each, example) for each in found])


@answers("issues/create-comment")
def create_comment(question: Question) -> Answer:
    repository = question.repository
    pull = repository and question.conversation(repository)
    if repository is None or pull is None:
        return NOT_FOUND
    wrong = _cannot_write(question, repository, locked=pull.locked)
    if wrong is not None:
        return wrong
    comment = question.kept.comment(
        repository.name, pull.number, question.caller.login, question.read.body["body"]
    )
    content = comment_content(question, repository, comment, question.example(201))
    return Answer(201, content, {"location": content["url"]})


def _cannot_write(question: Question, repository: Repository, *, locked: bool) -> Answer | None:
    if not question.may_write(repository):
        return refused(403, "Resource not accessible by integration")
    if locked:
        return refused(403, "Unable to create comment because issue is locked.")
    body = question.read.body["body"]
    if not body.strip():
        return refused(
            422,
            "Validation Failed",
            errors=[{"resource": "IssueComment", "code": "missing_field", "field": "body"}],
        )
    if len(body) > LONGEST_BODY or len(body.encode("utf-16-le", "surrogatepass")) // 2 > LONGEST_BODY:
        said = {
            "resource": "IssueComment",
            "code": "unprocessable",
            "field": "data",
            "message": "Body is too long (maximum is 65536 characters)",
        }
        return refused(422, "Validation Failed", errors=[said])
    return None


@answers("issues/get-comment")
def get_comment(question: Question) -> Answer:
    repository, comment = _comment(question)
    if repository is None or comment is None:
        return NOT_FOUND
    return Answer(200, comment_content(question, repository, comment, question.example(200)))


@answers("issues/update-comment")
def update_comment(question: Question) -> Answer:
    repository, comment = _comment(question)
    if repository is None or comment is None:
        return NOT_FOUND
    if comment.login != question.caller.login:
        return refused(403, "Resource not accessible by integration")
    wrong = _cannot_write(question, repository, locked=False)
    if wrong is not None:
        return wrong
    comment.body, comment.edits = question.read.body["body"], comment.edits + 1
    return Answer(200, comment_content(question, repository, comment, question.example(200)))


@answers("issues/delete-comment")
def delete_comment(question: Question) -> Answer:
    repository, comment = _comment(question)
    if repository is None or comment is None:
        return NOT_FOUND
    if not question.may_write(repository):
        return refused(403, "Resource not accessible by integration")
    del repository.comments[comment.identity]
    return Answer(204)


def _comment(question: Question) -> tuple[Repository | None, Comment | None]:
    repository = question.repository
    return repository, repository and repository.comments.get(question.read.path["comment_id"])


@answers("reactions/create-for-issue-comment")
def react(question: Question) -> Answer:
    repository, comment = _comment(question)
    if repository is None or comment is None:
        return NOT_FOUND
    if not question.may_write(repository):
        return refused(403, "Resource not accessible by integration")
    reaction = (question.caller.login, question.read.body["content"])
    there = reaction in comment.reactions
    if not there:
        comment.reactions.append(reaction)
    return Answer(
        200 if there else 201, _reaction(question.example(201), reaction, comment.reactions.index(reaction))
    )


@answers("reactions/list-for-issue-comment")
def list_reactions(question: Question) -> Answer:
    repository, comment = _comment(question)
    if repository is None or comment is None:
        return NOT_FOUND
    example = question.example(200)[0]
    return paged(question, [_reaction(example, each, index) for index, each in enumerate(comment.reactions)])


def _reaction(example: Any, reaction: tuple[str, str], index: int) -> Any:
    return merged(example, {"id": index + 1, "content": reaction[1], "user": {"login": reaction[0]}})


@answers("checks/create")
def create_check(question: Question) -> Answer:
    repository = question.repository
    if repository is None:
        return NOT_FOUND
    if not question.may_write(repository) or question.caller.token is None:
        return refused(403, "Resource not accessible by integration")
    body = question.read.body
    if body["head_sha"] not in repository.commits:
        return refused(422, f"No commit found for SHA: {body['head_sha']}")
    check = CheckRun(
        question.kept.number(), question.caller.login.removesuffix("[bot]"), body["head_sha"], {}
    )
    wrong = _written(check, body)
    if wrong is None:
        repository.checks[check.identity] = check
    return wrong or Answer(201, check_content(question, check, question.example(201)))


@answers("checks/update")
def update_check(question: Question) -> Answer:
    repository = question.repository
    check = repository and repository.checks.get(question.read.path["check_run_id"])
    if check is None:
        return NOT_FOUND
    if check.app != question.caller.login.removesuffix("[bot]"):
        return refused(403, "Resource not accessible by integration")
    return _written(check, question.read.body) or Answer(
        200, check_content(question, check, question.example(200))
    )


def _written(check: CheckRun, body: dict[str, Any]) -> Answer | None:
    content = {**check.content, **body}
    if "conclusion" in body:
        content["status"] = "completed"
    elif body.get("status") in ("queued", "in_progress"):
        content.pop("conclusion", None)
    elif body.get("status") == "completed":
        return refused(422, 'Invalid request.\n\n"conclusion" wasn\'t supplied.')
    check.content = content
    return None


def check_content(question: Question, check: CheckRun, example: Any) -> Any:
    content, done = check.content, check.content.get("status") == "completed"
    output = {key: content.get("output", {}).get(key) for key in ("title", "summary", "text")}
    kept = {
        "id": check.identity,
        "name": content["name"],
        "head_sha": check.head,
        "status": content.get("status", "queued"),
        "conclusion": content["conclusion"] if done else None,
        "completed_at": content.get("completed_at", moment(question.kept.now())) if done else None,
        "external_id": content.get("external_id", ""),
        "details_url": content.get("details_url", "https://example.com"),
        "output": output,
        "app": {"slug": check.app},
        "pull_requests": [],
    }
    return merged(example, kept)


@answers("checks/get")
def get_check(question: Question) -> Answer:
    repository = question.repository
    check = repository and repository.checks.get(question.read.path["check_run_id"])
    return NOT_FOUND if check is None else Answer(200, check_content(question, check, question.example(200)))


@answers("checks/list-for-ref")
def list_checks(question: Question) -> Answer:
    repository = question.repository
    sha = repository and repository.resolve(question.read.path["ref"])
    if repository is None or sha is None:
        return NOT_FOUND
    example = question.example(200)["check_runs"][0]
    name = question.read.query.get("check_name")
    found = [
        each
        for each in repository.checks.values()
        if each.head == sha and name in (None, each.content["name"])
    ]
    contents = [check_content(question, each, example) for each in reversed(found)]
    return paged(question, contents, lambda items: {"total_count": len(found), "check_runs": items})
