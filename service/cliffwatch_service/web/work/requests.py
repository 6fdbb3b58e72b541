"""The form of the compare page that requests more boots."""

import re
from dataclasses import dataclass
from typing import Annotated
from uuid import uuid4

from fastapi import APIRouter
from fastapi.responses import RedirectResponse, Response

from cliffwatch.formats.run_record import RunRecord
from cliffwatch.samples import BOOTS_PATTERN, MODES, PROFILES, SERVICE_PROFILE
from cliffwatch_service.http.context import ServiceHere
from cliffwatch_service.jobs.requests import RequestDraft, store_request
from cliffwatch_service.jobs.targets import refuse_unoffered
from cliffwatch_service.jobs.trees_allowed import refuse_tree
from cliffwatch_service.refusal import Refusal
from cliffwatch_service.web.layout.session import FormHere, Visitor, require_form_token

router = APIRouter()

_TREE = re.compile(r"(https?|git)://[^\s]{1,2000}")
_COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
_NAME = re.compile(r"[\w.+-]{1,200}")
_FIELDS = {
    "tree": _TREE,
    "base": _COMMIT,
    "head": _COMMIT,
    "platform": _NAME,
    "suite": _NAME,
    "boots": re.compile(BOOTS_PATTERN),
    "key": _NAME,
    "mode": re.compile("|".join(MODES)),
    "profile": re.compile("|".join(PROFILES)),
}


@dataclass(frozen=True, slots=True)
class RepeatRequest:
    """Fields of the form that requests a repeat."""

    tree: str
    base: str
    head: str
    platform: str
    mode: str
    suite: str
    profile: str
    boots: str
    key: str


def build_repeat(record: RunRecord, base: str, head: str, suite: str) -> RepeatRequest | None:
    """Returns the request that measures a suite of a run again, with more boots.

    None if the tree is a local folder, which other hosts cannot fetch.
    """
    if not _TREE.fullmatch(record.tree):
        return None
    return RepeatRequest(
        tree=record.tree,
        base=base,
        head=head,
        platform=record.platform,
        mode=record.mode,
        suite=suite,
        profile=record.profile or SERVICE_PROFILE,
        boots="careful" if record.mode == "walltime" else "10",
        key=uuid4().hex,
    )


@router.post("/requests")
def make_request(
    service: ServiceHere,
    form: FormHere,
    visitor: Annotated[Visitor, require_form_token()],
) -> Response:
    """Makes the request. A form sent twice makes it once."""
    wrong = [name for name, pattern in _FIELDS.items() if not pattern.fullmatch(form.get(name, ""))]
    if wrong:
        raise Refusal(
            422, "no request", f"the form's field {wrong[0]!r} is missing or none of ours: use the page here"
        )
    asked = RequestDraft(
        tree=form["tree"],
        base=form["base"],
        head=form["head"],
        targets=[(form["platform"], form["mode"])],
        suites=[form["suite"]],
        profile=form["profile"],
        boots=form["boots"],
        priority="person",
        note="asked from the compare page",
    )
    assert visitor.caller.token_id is not None
    with service.transaction() as connection:
        refuse_tree(connection, asked.tree, service.settings.trees)
        row, fresh = store_request(
            connection,
            asked,
            key=form["key"],
            token_id=visitor.caller.token_id,
            who=visitor.caller.name,
            now=service.now(),
        )
        if fresh:
            refuse_unoffered(connection, asked.targets, asked.needs)
    return RedirectResponse(f"/requests/{row.id}", 303)
