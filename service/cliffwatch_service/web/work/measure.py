"""The form that requests a measurement of two revisions, or of a pasted patch on a base."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any
from uuid import uuid4

import msgspec
from fastapi import APIRouter, Query, Request
from fastapi.responses import RedirectResponse, Response
from psycopg import Connection

from cliffwatch.catalogue.discovery import ALL, AUTO
from cliffwatch.catalogue.load import load_catalogue
from cliffwatch.formats.setup import (
    MOST_ASKED_LAYOUTS,
    NO_SETUP,
    TIME_CHOICES,
    Setup,
    SetupArm,
    SetupFile,
    parse_time,
)
from cliffwatch.samples import BOOTS_CHOICES, BOOTS_PATTERN, DEFAULT_BOOTS, MODES, PROFILES, SERVICE_PROFILE
from cliffwatch_service.access.quotas import within_quota
from cliffwatch_service.compare.naming import find_revision, is_branch
from cliffwatch_service.http.context import ServiceHere
from cliffwatch_service.jobs.ends import base_on_branch, refuse_ends
from cliffwatch_service.jobs.estimates import Wait, estimate_waits
from cliffwatch_service.jobs.requests import RequestDraft, store_request
from cliffwatch_service.jobs.targets import load_offered_targets, refuse_unoffered
from cliffwatch_service.jobs.trees_allowed import refuse_tree
from cliffwatch_service.refusal import Refusal
from cliffwatch_service.store import follows, overview
from cliffwatch_service.web.layout.render import page
from cliffwatch_service.web.layout.session import FormHere, ReaderHere, Visitor, require_form_token

router = APIRouter()

Text = Annotated[str, Query(max_length=2000)]

_WHOLE = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
_TREE = re.compile(r"[a-z][a-z+]*://[^\s]{1,2000}")
_BOOTS = re.compile(BOOTS_PATTERN)
_LAYOUTS = re.compile(r"[1-9][0-9]{0,2}", re.ASCII)
_PROFILE = re.compile("|".join(PROFILES))
_KEY = re.compile(r"[\w.+-]{1,200}")
_MAILBOX = re.compile(r"From [0-9a-f]{40} ")
_PATCH = "pasted.patch"


@dataclass(frozen=True, slots=True)
class TargetOption:
    """A platform and mode to tick."""

    name: str
    """Name of the form field."""
    platform: str
    mode: str
    wait: Wait
    chosen: bool
    """Ticked when the form opens."""


@router.get("/measure")
def show_form(
    request: Request,
    service: ServiceHere,
    visitor: ReaderHere,
    tree: Text = "",
    base: Text = "",
    head: Text = "",
    suite: Text = "",
    target: Text = "",
) -> Response:
    """Shows the form, filled in from the query and from stored data about `head`."""
    now = service.now()
    with service.transaction() as connection:
        known = _find_revision(connection, head)
        followed = follows.list_follows(connection)
        targets = sorted(load_offered_targets(connection))
        waits = estimate_waits(connection, targets, now)
    trees = list(dict.fromkeys([*known.trees, *(row.tree for row in followed)]))
    return page(
        request,
        visitor,
        "work/measure.html",
        tree=tree or (trees[0] if trees else ""),
        trees=trees,
        base=base or known.base,
        head=known.commit or head,
        subject=known.subject,
        suite=suite,
        suites=[AUTO, ALL, *(each.name for each in load_catalogue().suites)],
        profiles=PROFILES,
        default_profile=SERVICE_PROFILE,
        default_boots=DEFAULT_BOOTS,
        targets=_targets(targets, waits, target),
        has_walltime=any(mode == "walltime" for _, mode in targets),
        key=uuid4().hex,
        may=visitor.caller.may("upload") and visitor.caller.host is None,
    )


def _targets(
    targets: Sequence[tuple[str, str]], waits: Mapping[tuple[str, str], Wait], wanted: str
) -> list[TargetOption]:
    """Lists the targets to tick.

    `wanted` names the ticked target as tables do: a platform, with or without a mode. A single target is
    always ticked.
    """
    return [
        TargetOption(
            f"target:{platform}:{mode}",
            platform,
            mode,
            waits[platform, mode],
            chosen=(platform in wanted.split() and (mode in wanted or not set(wanted.split()) & set(MODES)))
            or len(targets) == 1,
        )
        for platform, mode in targets
    ]


@dataclass(frozen=True, slots=True)
class _KnownRevision:
    """Stored data about the head that the query names. All fields are empty if the revision is unknown."""

    commit: str = ""
    subject: str | None = None
    base: str = ""
    trees: Sequence[str] = ()


def _find_revision(connection: Connection[Any], name: str) -> _KnownRevision:
    try:
        row = find_revision(connection, name) if name else None
    except Refusal:
        row = None
    if row is None:
        return _KnownRevision()
    trees = [place.tree for place in overview.branches_of_revision(connection, row.id)]
    return _KnownRevision(row.commit, row.subject, row.parents[0] if row.parents else "", trees)


@router.post("/measure")
def make_request(
    service: ServiceHere, form: FormHere, visitor: Annotated[Visitor, require_form_token()]
) -> Response:
    """Makes the request. A form sent twice makes it once. Raises Refusal with the name of a wrong field."""
    now = service.now()
    assert visitor.caller.token_id is not None
    with service.transaction() as connection:
        asked = _read_form(connection, form)
        refuse_tree(connection, asked.tree, service.settings.trees)
        keep = partial(
            store_request,
            connection,
            asked,
            key=_field(form, "key", _KEY, "reload the page and send the form again"),
            token_id=visitor.caller.token_id,
            who=visitor.caller.name,
            now=now,
        )
        size = sum(map(len, asked.contents.values()))
        row, fresh = within_quota(connection, service.settings, visitor.caller, size, now, keep)
        if fresh:
            refuse_unoffered(connection, asked.targets, asked.needs)
    return RedirectResponse(f"/requests/{row.id}", 303)


def _read_form(connection: Connection[Any], form: Mapping[str, str]) -> RequestDraft:
    targets = [(parts[1], parts[2]) for parts in (name.split(":") for name in form) if _is_target(parts)]
    if not targets:
        raise Refusal(422, "no platform", "tick at least one platform")
    base = _commit(connection, "base", form.get("base", ""))
    patch = form.get("patch", "").replace("\r\n", "\n")
    head = base if patch.strip() else _commit(connection, "head", form.get("head", ""))
    setup, contents = _arms_with_patch(base, patch) if patch.strip() else (NO_SETUP, {})
    if not contents:
        base = _base(connection, form.get("base", "").strip(), base, head)
        refuse_ends(connection, base, head)
    return RequestDraft(
        tree=_field(form, "tree", _TREE, "give the address of a git tree: https://…"),
        base=base,
        head=head,
        targets=targets,
        suites=[_field(form, "suite", _KEY, "choose a suite")],
        profile=_field(form, "profile", _PROFILE, "choose a profile"),
        boots=_field(form, "boots", _BOOTS, f"give {BOOTS_CHOICES}"),
        priority="person",
        note="asked from the page of first measurements",
        setup=_with_layouts_and_time(setup, form),
        contents=contents,
    )


def _with_layouts_and_time(setup: Setup, form: Mapping[str, str]) -> Setup:
    """Adds the layouts and the time of the form, which may be empty or absent."""
    layouts, time = None, None
    if form.get("layouts", "").strip():
        advice = f"give a number from 1 to {MOST_ASKED_LAYOUTS}, or leave it empty"
        layouts = int(_field(form, "layouts", _LAYOUTS, advice))
        if layouts > MOST_ASKED_LAYOUTS:
            raise Refusal(422, "no layouts", f"the field 'layouts' holds {layouts}: {advice}")
    if given := form.get("time", "").strip():
        time = parse_time(given)
        if time is None:
            raise Refusal(422, "no time", f"the field 'time' holds {given[:80]!r}: give {TIME_CHOICES}")
    return msgspec.structs.replace(setup, layouts=layouts, seconds=time)


def _is_target(parts: Sequence[str]) -> bool:
    return len(parts) == 3 and parts[0] == "target"


def _field(form: Mapping[str, str], name: str, pattern: re.Pattern[str], advice: str) -> str:
    value = form.get(name, "").strip()
    if not pattern.fullmatch(value):
        raise Refusal(422, f"no {name}", f"the field {name!r} holds {value[:80]!r}: {advice}")
    return value


def _commit(connection: Connection[Any], name: str, given: str) -> str:
    """Resolves a commit. Only a full hash may be unknown here. Raises Refusal for other unknown names."""
    text = given.strip()
    if _WHOLE.fullmatch(text.lower()):
        return text.lower()
    if not text:
        raise Refusal(422, f"no {name}", f"give a commit as {name}: all of its digits, or what names it here")
    try:
        return find_revision(connection, text).commit
    except Refusal as refusal:
        raise Refusal(
            422, f"no {name}", f"{refusal.detail}; of a commit that is not known here give all of its digits"
        ) from None


def _base(connection: Connection[Any], given: str, commit: str, head: str) -> str:
    """Returns the commit; if a branch was named, its merge base with head."""
    if not is_branch(connection, given):
        return commit
    return base_on_branch(connection, given, find_revision(connection, given), head)


def _arms_with_patch(base: str, patch: str) -> tuple[Setup, Mapping[str, bytes]]:
    """Returns a setup with two arms: the base, and the base with the patch or `git format-patch` mails."""
    content = patch.encode()
    file = SetupFile(name=_PATCH, bytes=len(content), sha256=hashlib.sha256(content).hexdigest())
    head = (
        SetupArm(name="patched", rev=base, series=_PATCH)
        if _MAILBOX.match(patch)
        else SetupArm(name="patched", rev=base, patch=(_PATCH,))
    )
    return Setup(arms=(SetupArm(name="base", rev=base), head), files=(file,)), {_PATCH: content}
