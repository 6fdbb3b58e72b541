"""Issues: opened, listed, closed and opened again."""

from typing import Any

from github_stand_in.answers import NOT_FOUND, Answer, Question, answers, merged, paged, refused
from github_stand_in.kept import Issue, Repository


def issue_content(question: Question, repository: Repository, issue: Issue, example: Any) -> Any:
    kept = {
        "number": issue.number,
        "title": issue.title,
        "body": issue.body,
        "state": issue.state,
        "locked": issue.locked,
        "user": question.description.user(issue.login),
        "author_association": issue.association,
    }
    content = merged(example, kept)
    content.pop("pull_request", None)
    return content


@answers("issues/create")
def create_issue(question: Question) -> Answer:
    repository = question.repository
    if repository is None:
        return NOT_FOUND
    if not question.may_write(repository):
        return refused(403, "Resource not accessible by integration")
    body = question.read.body
    issue = question.kept.issue(repository.name, question.caller.login, body["title"], body.get("body", ""))
    return Answer(201, issue_content(question, repository, issue, question.example(201)))


@answers("issues/list-for-repo")
def list_issues(question: Question) -> Answer:
    repository = question.repository
    if repository is None:
        return NOT_FOUND
    query, example = question.read.query, question.example(200)[0]
    found = [
        each
        for each in reversed(repository.issues.values())
        if query.get("state", "open") in (each.state, "all")
        and query.get("creator", each.login) == each.login
    ]
    return paged(question, [issue_content(question, repository, each, example) for each in found])


@answers("issues/update")
def update_issue(question: Question) -> Answer:
    repository = question.repository
    issue = repository and repository.issues.get(question.read.path["issue_number"])
    if repository is None or issue is None:
        return NOT_FOUND
    if not question.may_write(repository):
        return refused(403, "Resource not accessible by integration")
    issue.state = question.read.body.get("state", issue.state)
    return Answer(200, issue_content(question, repository, issue, question.example(200)))
