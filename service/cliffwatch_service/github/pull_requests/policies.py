"""Finds the policy for a repository's pull requests: an administrator's, else the file of the base branch.

The head's file never counts: its author could write anything into it.
"""

from base64 import b64decode
from binascii import Error
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from cliffwatch.failure import Failure, HttpFailure, wrong_usage
from cliffwatch.pull_request.mailing_list_series import read_series_branch
from cliffwatch.pull_request.policy import DEFAULT, FILE_NAME, LARGEST, Policy, read_policy
from cliffwatch_service.github.calling import InstallationClient
from cliffwatch_service.github.parts import raise_if_later
from cliffwatch_service.store.github.installations import RepositoryRow


def policy_of(installed: InstallationClient, repository: RepositoryRow, base_branch: str) -> Policy | Failure:
    """Returns the policy for pull requests to a branch. Raises Refusal."""
    if repository.policy is not None:
        return read_policy(repository.policy, "policy of the service")
    if read_series_branch(base_branch) is not None:
        return DEFAULT  # files of a series branch came by mail, from anybody
    path = f"/repos/{repository.name}/contents/{FILE_NAME}?ref={quote(f'refs/heads/{base_branch}', safe='')}"
    reply = installed.get(path)
    if isinstance(reply, HttpFailure):
        raise_if_later(reply)
        if reply.is_gone:
            return DEFAULT
        return wrong_usage(
            f"{FILE_NAME} of the base branch cannot be read ({reply.status})",
            "give the App the right to read contents",
        )
    text = _text_of(reply.body)
    return text if isinstance(text, Failure) else read_policy(text, FILE_NAME)


def _text_of(body: Any) -> str | Failure:
    wrong = wrong_usage(
        f"{FILE_NAME} of the base branch is no text file of at most {LARGEST} bytes", "make it one"
    )
    if not isinstance(body, Mapping) or body.get("type") != "file" or body.get("encoding") != "base64":
        return wrong
    try:
        content = b64decode(str(body.get("content", "")))
        return content.decode() if len(content) <= LARGEST else wrong
    except (Error, UnicodeDecodeError):
        return wrong
