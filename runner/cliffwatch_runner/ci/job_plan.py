"""What the jobs of a workflow are to measure, as the first job tells it to the others: an output, in JSON."""

import json
from typing import Annotated, Any, Final, Literal

from msgspec import Meta

from cliffwatch.failure import Failure, wrong_usage
from cliffwatch.formats.reading import Wrong, as_json, read_as
from cliffwatch.formats.values import Part
from cliffwatch.pull_request.policy import Boots, FailOn, Policy, Target
from cliffwatch.samples import Profile
from cliffwatch_runner.ci.event import Commit
from cliffwatch_runner.source.access import Trust

FORMAT: Final = "cliffwatch-ci-plan"
_LARGEST = 64 << 10

Subject = Literal["kernel", "go-library"]
"""What a workflow measures: revisions of a kernel tree, or of a Go library on one kernel."""

ModulePath = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._~/-]{0,199}(?![\s\S])")]
_Suite = Annotated[str, Meta(pattern=r"^[a-z0-9-]+(?![\s\S])")]


class LibraryPlan(Part, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A Go library's part of a plan: the path of its module, which base and head both declare, and the tree
    and revision of the kernel on which they are measured.
    """

    module: ModulePath
    kernel_tree: str
    kernel: str


class JobPlan(Part, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """Base and head are whole commits; `commits` counts those between them that are measured, 0 where nothing
    is.

    `pull_request` is None for a push, `library` where base and head are of a kernel tree. `notes` are
    sentences of ours. Nothing in it is text of somebody who has no write access.
    """

    format: Literal["cliffwatch-ci-plan"] = FORMAT
    base: Commit
    head: Commit
    commits: int
    pull_request: int | None
    series: int | None
    trust: Trust
    suites: tuple[_Suite, ...]
    profile: Profile
    boots: Boots
    bench_from: Literal["base", "head"]
    notable: float | None
    fail_on: tuple[FailOn, ...]
    targets: tuple[Target, ...]
    notes: tuple[str, ...]
    library: LibraryPlan | None = None

    def text(self) -> str:
        """The plan as one line of ASCII."""
        return json.dumps(as_json(self), sort_keys=True)

    def matrix(self) -> str:
        """GitHub's matrix: a job for each target, none where nothing is measured."""
        rows = [
            {"platform": target.platform, "mode": target.mode, "runs-on": list(target.runs_on)}
            for target in self.targets
        ]
        return json.dumps({"include": rows})


def read_job_plan(text: str) -> JobPlan | Failure:
    """The plan that `JobPlan.text` wrote."""
    plan = read_as(text[:_LARGEST].encode(errors="replace"), JobPlan)
    if isinstance(plan, Wrong):
        return wrong_usage(
            f"the plan cannot be read: {ascii(str(plan))[:200]}", "give the output of `cliffwatch ci plan`"
        )
    return plan


def planned(policy: Policy, **facts: Any) -> JobPlan:
    """A plan by a policy."""
    return JobPlan(
        suites=policy.suites,
        profile=policy.profile,
        boots=policy.boots,
        bench_from=policy.bench_from,
        notable=policy.notable,
        fail_on=policy.fail_on,
        **facts,
    )
