"""The page of followed branches, with the open confirmations and the bisections."""

from typing import Annotated, cast, get_args

from fastapi import APIRouter, Path, Request
from fastapi.responses import RedirectResponse, Response

from cliffwatch.catalogue.discovery import ALL
from cliffwatch.catalogue.load import load_catalogue
from cliffwatch.samples import MODES, PROFILES, SERVICE_PROFILE
from cliffwatch_service.history.backlog import backfill
from cliffwatch_service.history.follow import follow_branch, unfollow
from cliffwatch_service.history.presets import DEFAULT_TARGET, PRESETS, Preset, entries_of
from cliffwatch_service.http.context import ServiceHere
from cliffwatch_service.jobs.targets import load_offered_targets
from cliffwatch_service.jobs.trees_allowed import refuse_address
from cliffwatch_service.refusal import Refusal
from cliffwatch_service.store import background, follows
from cliffwatch_service.store.follows import Policy
from cliffwatch_service.store.history import bisections, confirmations
from cliffwatch_service.web.history.badge import badge_path
from cliffwatch_service.web.layout.render import page
from cliffwatch_service.web.layout.session import FormHere, ReaderHere, Visitor, require_form_token

router = APIRouter()

_MOST_SHOWN = 50
_OF_TARGET = "by target"
"""Option of the form: each target gets the policy of its mode."""

FollowId = Annotated[int, Path(ge=1, lt=2**31)]
Signed = Annotated[Visitor, require_form_token()]


@router.get("/branches")
def show_branches(request: Request, service: ServiceHere, visitor: ReaderHere) -> Response:
    with service.transaction() as connection:
        rows = follows.list_follows(connection)
        waiting = confirmations.open_confirmations(connection)
        searches = bisections.list_bisections(connection, _MOST_SHOWN)
        targets = sorted({DEFAULT_TARGET, *load_offered_targets(connection)})
    return page(
        request,
        visitor,
        "history/branches.html",
        rows=rows,
        badge_path=badge_path,
        confirmations=waiting,
        bisections=searches,
        presets=PRESETS,
        policies=(_OF_TARGET, *get_args(Policy)),
        targets=targets,
        suites=[ALL, *(suite.name for suite in load_catalogue().suites)],
        profiles=PROFILES,
        default_profile=SERVICE_PROFILE,
    )


@router.post("/branches")
def follow(service: ServiceHere, form: FormHere, visitor: Signed) -> Response:
    """Follows the branch that the form names."""
    where = _branch(form.get("tree", "").strip(), form.get("branch", "").strip())
    platform, _, mode = form.get("target", "").rpartition(":")
    if not platform or mode not in MODES:
        raise Refusal(
            422, "no target", "a target is PLATFORM:MODE, such as amd-rome:walltime: choose one of the list"
        )
    suite, profile, policy = (form.get(name, "") for name in ("suite", "profile", "policy"))
    known = [ALL, *(each.name for each in load_catalogue().suites)]
    if suite not in known or profile not in PROFILES or policy not in (_OF_TARGET, *get_args(Policy)):
        raise Refusal(422, "odd form", "choose suite, profile and policy from the lists of the form")
    chosen = None if policy == _OF_TARGET else cast("Policy", policy)
    anchor = form.get("anchor", "").strip()[:300] or None
    with service.transaction() as connection:
        for entry in entries_of(where, [(platform, mode)], [suite], profile, chosen, anchor):
            number = follow_branch(connection, entry, who=visitor.caller.name, now=service.now())
            background.ask_poll(connection, number)
    return RedirectResponse("/branches", 303)


def _branch(tree: str, branch: str) -> Preset:
    """Returns a preset by name, or a tree and branch by URL. Raises Refusal if the URL is not accepted."""
    preset = PRESETS.get(tree)
    if preset is not None:
        return Preset(preset.tree, branch or preset.branch)
    refuse_address(tree)
    if len(tree) > 2000:
        raise Refusal(422, "no tree", "the address of the tree has more than 2000 characters")
    return Preset(tree, branch)


@router.post("/branches/{follow}/backfill")
def measure_range(follow: FollowId, service: ServiceHere, form: FormHere, visitor: Signed) -> Response:
    base, head = (form.get(name, "").strip()[:200] for name in ("base", "head"))
    with service.transaction() as connection:
        backfill(connection, follow, base, head, who=visitor.caller.name, now=service.now())
        background.ask_poll(connection, follow)
    return RedirectResponse("/branches", 303)


@router.post("/branches/{follow}/end")
def end(follow: FollowId, service: ServiceHere, visitor: Signed) -> Response:
    with service.transaction() as connection:
        unfollow(connection, follow, who=visitor.caller.name, now=service.now())
    return RedirectResponse("/branches", 303)
