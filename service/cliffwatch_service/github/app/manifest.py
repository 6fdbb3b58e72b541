"""The App's manifest: its permissions and events with reasons, and the page that sends it to GitHub."""

import html
import json
from collections.abc import Mapping

from cliffwatch.formats.values import FreeJson

PERMISSIONS: Mapping[str, tuple[str, str]] = {
    "metadata": (
        "read",
        "every App has it; it says who may write to a repository, which is who may give commands",
    ),
    "contents": (
        "read",
        "the policy file of the base branch, the merge base, and which files a commit touches",
    ),
    "pull_requests": (
        "write",
        "to read pull requests, and to write the report and answer commands in their comments",
    ),
    "checks": ("write", "to show the verdict beside the commit"),
    "issues": (
        "write",
        "to open an issue for a regression report, in repositories that the settings name and no other",
    ),
}
"""Access level and reason of each permission."""

EVENTS: Mapping[str, str] = {
    "push": "a followed branch is looked at when it moves, not only every few minutes",
    "pull_request": "a new head is measured, and what it replaces is cancelled",
    "issue_comment": "commands such as /bench",
    "check_suite": "a head that was not seen yet is looked at",
    "check_run": "its button to run it again shows the state anew",
}
"""Purpose of each event. GitHub sends installation events without a subscription."""


def manifest(*, name: str, pages_url: str, webhook_url: str, redirect_url: str) -> FreeJson:
    """Returns the manifest of a private App.

    Only its owner's account can install a private App, so other people's repositories cannot use this
    service's hosts.
    """
    return {
        "name": name,
        "url": pages_url,
        "description": "Continuous benchmarking for the Linux BPF subsystem",
        "hook_attributes": {"url": webhook_url, "active": True},
        "redirect_url": redirect_url,
        "public": False,
        "default_permissions": {permission: how for permission, (how, _) in PERMISSIONS.items()},
        "default_events": list(EVENTS),
    }


def form_address(github_web: str, organisation: str | None) -> str:
    where = f"organizations/{organisation}/" if organisation else ""
    return f"{github_web}/{where}settings/apps/new"


def form_page(action: str, state: str, content: FreeJson) -> str:
    """Returns a page with one button. It sends the manifest to GitHub from the owner's browser."""
    rows = "".join(
        f"<tr><td>{html.escape(permission)}</td><td>{how}</td><td>{html.escape(why)}</td></tr>"
        for permission, (how, why) in PERMISSIONS.items()
    )
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Cliffwatch: a GitHub App</title><h1>A'
        " GitHub App for Cliffwatch</h1><table><tr><th>permission<th>how far<th>what"
        f' for</tr>{rows}</table><form method="post"'
        f' action="{html.escape(action)}?state={html.escape(state)}"><input type="hidden" name="manifest"'
        f' value="{html.escape(json.dumps(content))}"><button>Make it on GitHub</button></form></html>'
    )
