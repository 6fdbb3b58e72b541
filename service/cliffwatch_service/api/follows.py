"""Endpoints for followed branches, for administrators."""

from typing import Annotated

from fastapi import APIRouter, Path, Request
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from cliffwatch.samples import DEFAULT_MODE, SERVICE_PROFILE, Mode, Profile
from cliffwatch.trees.addresses import LONGEST_BRANCH
from cliffwatch_service.api.answers import answer, take
from cliffwatch_service.api.models.lists import Page
from cliffwatch_service.api.models.work import Backfilled, Followed, FollowEnded
from cliffwatch_service.history.backlog import backfill
from cliffwatch_service.history.follow import follow_branch, unfollow
from cliffwatch_service.http.context import PREFIX, Allowed, ServiceHere
from cliffwatch_service.ingest.request_fields import Name
from cliffwatch_service.jobs.trees_allowed import refuse_address
from cliffwatch_service.store import background, follows
from cliffwatch_service.store.follows import FollowFacts, FollowRow, Policy

router = APIRouter(prefix=PREFIX, tags=["branches"])


class TargetBody(BaseModel):
    """A platform and a mode."""

    model_config = ConfigDict(extra="forbid")

    platform: Name
    mode: Mode = DEFAULT_MODE


class FollowBody(BaseModel):
    """A branch of a git tree to follow.

    `policy` says when the service makes a request:

    - `commit`: for each commit.
    - `affected`: for each commit, with only the cases that it can affect.
    - `push`: for each push.
    - `nightly`: each night, for the newest commit.

    A branch may be followed with several policies, each on other targets.

    `anchor` is a full commit hash or a tag, or `none`. Walltime runs of the policies `push` and `nightly`
    measure the anchor beside base and head. Null leaves the anchor as it is; the first one is where following
    began.
    """

    model_config = ConfigDict(extra="forbid")

    tree: Annotated[str, StringConstraints(min_length=1, max_length=2000, pattern=r"^[a-z][a-z+]*://[^\s]+$")]
    branch: Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_BRANCH)]
    policy: Policy
    targets: Annotated[list[TargetBody], Field(min_length=1, max_length=20)]
    suites: Annotated[list[Name], Field(min_length=1, max_length=50)]
    profile: Profile = SERVICE_PROFILE
    anchor: Annotated[str, StringConstraints(min_length=1, max_length=200)] | None = None


@router.get(
    "/follows",
    summary="Followed branches, when they were last polled, and their problems",
    responses={200: {"model": Page[Followed]}},
)
def list_follows(request: Request, service: ServiceHere, _: Allowed) -> Response:
    with service.transaction() as connection:
        rows = follows.list_follows(connection)
    return answer(request, {"items": [_shown(row) for row in rows], "next": None})


def _shown(row: FollowRow) -> Followed:
    return take(
        Followed,
        row,
        follow=row.id,
        targets=[{"platform": target[0], "mode": target[1]} for target in row.targets],
        anchor=row.anchor_commit,
        anchor_problem=row.anchor_problem or row.anchor_failure,
    )


@router.post(
    "/follows",
    summary="Follow a branch, or change the targets, suites and profile of a branch with this policy",
    status_code=201,
    responses={200: {"model": Followed}, 201: {"model": Followed}},
)
def make_follow(body: FollowBody, request: Request, service: ServiceHere, caller: Allowed) -> Response:
    refuse_address(body.tree)
    row = FollowFacts(
        tree=body.tree,
        branch=body.branch,
        policy=body.policy,
        targets=[(target.platform, target.mode) for target in body.targets],
        suites=body.suites,
        profile=body.profile,
        anchor=body.anchor,
    )
    with service.transaction() as connection:
        number = follow_branch(connection, row, who=caller.name, now=service.now())
        kept = follows.follow_row(connection, number)
    assert kept is not None
    return answer(request, _shown(kept), status=201)


class BackfillBody(BaseModel):
    """A range of a followed branch: two first-parent commits, by hash or tag. `base` is the older one."""

    model_config = ConfigDict(extra="forbid")

    base: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    head: Annotated[str, StringConstraints(min_length=1, max_length=200)]


@router.post(
    "/follows/{follow}/backfill",
    summary="Measure every commit of a range of a followed branch",
    status_code=201,
    responses={201: {"model": Backfilled}},
)
def make_backfill(
    follow: Annotated[int, Path(ge=1, lt=2**31)],
    body: BackfillBody,
    request: Request,
    service: ServiceHere,
    caller: Allowed,
) -> Response:
    with service.transaction() as connection:
        commits = backfill(connection, follow, body.base, body.head, who=caller.name, now=service.now())
        background.ask_poll(connection, follow)
    return answer(request, {"follow": follow, "commits": commits}, status=201)


@router.delete(
    "/follows/{follow}", summary="Stop following a branch", responses={200: {"model": FollowEnded}}
)
def end_follow(
    follow: Annotated[int, Path(ge=1, lt=2**31)], request: Request, service: ServiceHere, caller: Allowed
) -> Response:
    with service.transaction() as connection:
        unfollow(connection, follow, who=caller.name, now=service.now())
    return answer(request, {"follow": follow, "followed": False})
