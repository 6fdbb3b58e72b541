"""Repositories: pull requests, commits, comparisons, files, branches, permissions, artifacts of workflows."""

import base64
from difflib import unified_diff
from typing import Any

from github_stand_in.answers import NOT_FOUND, Answer, Question, answers, merged, paged, refused
from github_stand_in.kept import Commit, Pull, Repository, moment


@answers("repos/get")
def get_repository(question: Question) -> Answer:
    repository = question.repository
    if repository is None:
        return NOT_FOUND
    return Answer(200, merged(question.example(200), repository_content(repository)))


def repository_content(repository: Repository) -> dict[str, Any]:
    owner, name = repository.name.split("/")
    return {
        "id": repository.identity,
        "name": name,
        "full_name": repository.name,
        "owner": {"login": owner},
        "private": repository.private,
        "default_branch": repository.default_branch,
        "clone_url": f"https://github.com/{repository.name}.git",
        "html_url": f"https://github.com/{repository.name}",
    }


def pull_content(question: Question, repository: Repository, pull: Pull, example: Any) -> Any:
    head_name = pull.head_repository
    head_repository = question.kept.repositories.get(head_name, Repository(head_name, 1))
    kept = {
        "number": pull.number,
        "id": repository.identity * 1000 + pull.number,
        "title": pull.title,
        "body": pull.body,
        "state": pull.state,
        "locked": pull.locked,
        "draft": pull.draft,
        "user": {"login": pull.login},
        "author_association": pull.association,
        "url": f"{question.origin}/repos/{repository.name}/pulls/{pull.number}",
        "html_url": f"https://github.com/{repository.name}/pull/{pull.number}",
        "head": {
            "ref": pull.head_branch,
            "sha": pull.head,
            "label": f"{head_name.split('/')[0]}:{pull.head_branch}",
            "user": {"login": head_name.split("/")[0]},
            "repo": {**repository_content(head_repository), "fork": head_name != repository.name},
        },
        "base": {
            "ref": pull.base_branch,
            "sha": repository.branches.get(pull.base_branch, pull.base),
            "label": f"{repository.name.split('/')[0]}:{pull.base_branch}",
            "user": {"login": repository.name.split("/")[0]},
            "repo": repository_content(repository),
        },
    }
    return merged(example, kept)


@answers("pulls/get")
def get_pull(question: Question) -> Answer:
    repository = question.repository
    pull = repository and question.pull(repository, "pull_number")
    if repository is None or pull is None:
        return NOT_FOUND
    return Answer(200, pull_content(question, repository, pull, question.example(200)))


@answers("pulls/list")
def list_pulls(question: Question) -> Answer:
    repository = question.repository
    if repository is None:
        return NOT_FOUND
    query, example = question.read.query, question.example(200)[0]
    found = [
        each
        for each in repository.pulls.values()
        if query.get("state", "open") in (each.state, "all")
        and query.get("head", f"{each.head_repository.split('/')[0]}:{each.head_branch}")
        == f"{each.head_repository.split('/')[0]}:{each.head_branch}"
        and query.get("base", each.base_branch) == each.base_branch
    ]
    return paged(question, [pull_content(question, repository, each, example) for each in found])


@answers("repos/list-pull-requests-associated-with-commit")
def pulls_of_commit(question: Question) -> Answer:
    repository = question.repository
    if repository is None:
        return NOT_FOUND
    sha, example = question.read.path["commit_sha"], question.example(200)[0]
    found = [each for each in repository.pulls.values() if sha in repository.history(each.head)]
    return paged(question, [pull_content(question, repository, each, example) for each in found])


@answers("issues/get")
def get_issue(question: Question) -> Answer:
    repository = question.repository
    pull = repository and question.pull(repository, "issue_number")
    if repository is None or pull is None:
        return NOT_FOUND
    kept = {
        "number": pull.number,
        "title": pull.title,
        "body": pull.body,
        "state": pull.state,
        "locked": pull.locked,
        "user": question.description.user(pull.login),
        "author_association": pull.association,
    }
    return Answer(200, merged(question.example(200), kept))


def commit_content(question: Question, repository: Repository, commit: Commit, example: Any) -> Any:
    kept: dict[str, Any] = {
        "sha": commit.sha,
        "url": f"{question.origin}/repos/{repository.name}/commits/{commit.sha}",
        "html_url": f"https://github.com/{repository.name}/commit/{commit.sha}",
        "commit": {"message": commit.message},
        "author": {"login": commit.login},
        "parents": [
            {
                "sha": parent,
                "url": f"{question.origin}/repos/{repository.name}/commits/{parent}",
                "html_url": f"https://github.com/{repository.name}/commit/{parent}",
            }
            for parent in commit.parents
        ],
    }
    if "files" in example:
        kept["files"] = _files(repository, commit.parents[0] if commit.parents else None, commit.sha)
    return merged(example, kept)


def _files(repository: Repository, base: str | None, head: str) -> list[dict[str, Any]]:
    before = repository.files_at(base) if base in repository.commits else {}
    after = repository.files_at(head)
    changed = []
    for path in sorted(before.keys() | after.keys()):
        old, new = before.get(path), after.get(path)
        if old == new:
            continue
        status = "added" if old is None else "removed" if new is None else "modified"
        lines = list(unified_diff((old or "").splitlines(), (new or "").splitlines(), lineterm=""))[2:]
        plus, minus = (sum(line.startswith(sign) for line in lines) for sign in "+-")
        changed.append(
            {
                "sha": head,
                "filename": path,
                "status": status,
                "additions": plus,
                "deletions": minus,
                "changes": plus + minus,
                "blob_url": f"https://github.com/{repository.name}/blob/{head}/{path}",
                "raw_url": f"https://github.com/{repository.name}/raw/{head}/{path}",
                "contents_url": f"https://api.github.com/repos/{repository.name}/contents/{path}?ref={head}",
                "patch": "\n".join(lines),
            }
        )
    return changed


@answers("repos/get-commit")
def get_commit(question: Question) -> Answer:
    repository = question.repository
    sha = repository and repository.resolve(question.read.path["ref"])
    if repository is None:
        return NOT_FOUND
    if sha is None:
        return refused(422, f"No commit found for SHA: {question.read.path['ref']}")
    return Answer(200, commit_content(question, repository, repository.commits[sha], question.example(200)))


@answers("repos/list-commits")
def list_commits(question: Question) -> Answer:
    repository = question.repository
    sha = repository and repository.resolve(question.read.query.get("sha", repository.default_branch))
    if repository is None or sha is None:
        return NOT_FOUND
    example = question.example(200)[0]
    return paged(
        question,
        [
            commit_content(question, repository, repository.commits[each], example)
            for each in repository.history(sha)
        ],
    )


@answers("pulls/list-commits")
def list_pull_commits(question: Question) -> Answer:
    repository = question.repository
    pull = repository and question.pull(repository, "pull_number")
    if repository is None or pull is None:
        return NOT_FOUND
    example = question.example(200)[0]
    base = repository.branches.get(pull.base_branch, pull.base)
    commits = _only(repository, base, pull.head)[:250]
    return paged(
        question,
        [commit_content(question, repository, repository.commits[each], example) for each in commits],
    )


@answers("pulls/list-files")
def list_pull_files(question: Question) -> Answer:
    repository = question.repository
    pull = repository and question.pull(repository, "pull_number")
    if repository is None or pull is None:
        return NOT_FOUND
    merge_base = _merge_base(repository, repository.branches.get(pull.base_branch, pull.base), pull.head)
    return paged(question, _files(repository, merge_base, pull.head))


def _only(repository: Repository, base: str, head: str) -> list[str]:
    """The commits of head that base does not have, oldest first."""
    theirs = set(repository.history(base))
    return [each for each in reversed(repository.history(head)) if each not in theirs]


def _merge_base(repository: Repository, base: str, head: str) -> str | None:
    theirs = set(repository.history(base))
    return next((each for each in repository.history(head) if each in theirs), None)


@answers("repos/compare-commits-with-basehead")
def compare(question: Question) -> Answer:
    repository = question.repository
    names = question.read.path["basehead"].split("...")
    if repository is None or len(names) != 2:
        return NOT_FOUND
    base, head = (repository.resolve(name.split(":")[-1]) for name in names)
    common = _merge_base(repository, base, head) if base and head else None
    if base is None or head is None or common is None:
        return NOT_FOUND
    example = question.example(200)
    ahead, behind = _only(repository, base, head), _only(repository, head, base)
    status = {(True, True): "diverged", (True, False): "ahead", (False, True): "behind"}.get(
        (bool(ahead), bool(behind)), "identical"
    )
    first = example["commits"][0]
    kept = {
        "base_commit": commit_content(question, repository, repository.commits[base], example["base_commit"]),
        "merge_base_commit": commit_content(
            question, repository, repository.commits[common], example["merge_base_commit"]
        ),
        "status": status,
        "ahead_by": len(ahead),
        "behind_by": len(behind),
        "total_commits": len(ahead),
        "files": _files(repository, common, head),
    }
    contents = [commit_content(question, repository, repository.commits[each], first) for each in ahead]
    return paged(question, contents, lambda items: merged(example, {**kept, "commits": items}))


@answers("repos/get-content")
def get_content(question: Question) -> Answer:
    repository = question.repository
    sha = repository and repository.resolve(question.read.query.get("ref", repository.default_branch))
    if repository is None or sha is None:
        return (
            NOT_FOUND
            if repository is None
            else refused(404, f"No commit found for the ref {question.read.query.get('ref')}")
        )
    path, files = question.read.path["path"], repository.files_at(sha)
    if path in files:
        content = files[path].encode()
        kept = {
            "name": path.rpartition("/")[2],
            "path": path,
            "size": len(content),
            "encoding": "base64",
            "content": base64.encodebytes(content).decode(),
        }
        return Answer(200, merged(question.example(200, "response-if-content-is-a-file"), kept))
    below = sorted({each[len(path) + 1 :].split("/")[0] for each in files if each.startswith(f"{path}/")})
    if not below:
        return NOT_FOUND
    example = question.example(200, "response-if-content-is-a-directory")[0]
    return Answer(200, [merged(example, {"name": each, "path": f"{path}/{each}"}) for each in below])


@answers("repos/get-branch")
def get_branch(question: Question) -> Answer:
    repository, name = question.repository, question.read.path["branch"]
    if repository is None or name not in repository.branches:
        return refused(404, "Branch not found")
    return Answer(
        200, merged(question.example(200), {"name": name, "commit": {"sha": repository.branches[name]}})
    )


@answers("git/get-ref")
def get_ref(question: Question) -> Answer:
    repository, name = question.repository, question.read.path["ref"].removeprefix("heads/")
    if repository is None or name not in repository.branches:
        return NOT_FOUND
    return Answer(
        200,
        merged(
            question.example(200), {"ref": f"refs/heads/{name}", "object": {"sha": repository.branches[name]}}
        ),
    )


@answers("repos/get-collaborator-permission-level")
def permission(question: Question) -> Answer:
    repository, login = question.repository, question.read.path["username"]
    if repository is None or not question.may_write(repository):
        return NOT_FOUND
    level = repository.permissions.get(login, "none" if repository.private else "read")
    legacy = {"maintain": "write", "triage": "read"}.get(level, level)
    kept = {"permission": legacy, "role_name": level, "user": {"login": login}}
    return Answer(200, merged(question.example(200), kept))


@answers("actions/list-workflow-run-artifacts")
def list_artifacts(question: Question) -> Answer:
    repository = question.repository
    if repository is None:
        return NOT_FOUND
    example = question.example(200)["artifacts"][0]
    run, name = question.read.path["run_id"], question.read.query.get("name")
    found = [
        merged(
            example,
            {
                "id": identity,
                "name": named,
                "size_in_bytes": len(content),
                "created_at": moment(question.kept.now()),
                "archive_download_url": (
                    f"{question.origin}/repos/{repository.name}/actions/artifacts/{identity}/zip"
                ),
                "workflow_run": {"id": run},
            },
        )
        for identity, (of_run, named, content) in repository.artifacts.items()
        if of_run == run and name in (None, named)
    ]
    return paged(question, found, lambda items: {"total_count": len(found), "artifacts": items})


@answers("actions/download-artifact")
def download_artifact(question: Question) -> Answer:
    repository = question.repository
    artifact = repository and repository.artifacts.get(question.read.path["artifact_id"])
    if artifact is None:
        return NOT_FOUND
    return Answer(302, None, {"location": f"{question.origin}/_files/{question.read.path['artifact_id']}"})
