"""The plan of a workflow: what its jobs measure.

The first job passes it to the others as an output, in JSON.
"""

import json
from typing import Annotated, Any, Final, Literal

from msgspec import Meta

from cliffwatch.failure import Failure, wrong_usage
from cliffwatch.formats.reading import as_json, read_as
from cliffwatch.formats.setup import NO_SETUP, Setup
from cliffwatch.formats.values import Part, copy_fields
from cliffwatch.parsers.readings import Problem
from cliffwatch.pull_request.policy import FailOn, Policy, Target
from cliffwatch.pull_request.policy_boots import Boots
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
    """A Go library's part of a plan."""

    module: ModulePath
    """Module path, the same in the go.mod of base and head."""
    kernel_tree: str
    kernel: str
    """Revision in `kernel_tree`. Base and head are both measured on this kernel."""


class JobPlan(Part, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """What the jobs of a workflow measure. Contains no text by people without write access."""

    format: Literal["cliffwatch-ci-plan"] = FORMAT
    base: Commit
    head: Commit
    commits: int
    """Number of measured commits from base to head; 0 if nothing is measured."""
    pull_request: int | None
    """Number of the pull request; None for a push."""
    series: int | None
    """Patchwork's number of the patch series; None for other branches."""
    trust: Trust
    suites: tuple[_Suite, ...]
    profile: Profile
    boots: Boots
    setup: Setup = NO_SETUP
    """Layouts, matched layouts and time of the targets in walltime."""
    bench_from: Literal["base", "head"]
    notable: float | None
    """Threshold as a fraction; None for each mode's default."""
    fail_on: tuple[FailOn, ...]
    targets: tuple[Target, ...]
    """Empty if nothing is measured."""
    notes: tuple[str, ...]
    """Sentences for the reader, written by Cliffwatch."""
    library: LibraryPlan | None = None
    """None if base and head are revisions of a kernel tree."""

    def text(self) -> str:
        """The plan as one line of ASCII."""
        return json.dumps(as_json(self), sort_keys=True)

    def matrix(self) -> str:
        """Returns GitHub's matrix: one job per target, no job if nothing is measured."""
        rows = [
            {"platform": target.platform, "mode": target.mode, "runs-on": list(target.runs_on)}
            for target in self.targets
        ]
        return json.dumps({"include": rows})


def read_job_plan(text: str) -> JobPlan | Failure:
    """Parses the output of `JobPlan.text`."""
    plan = read_as(text[:_LARGEST].encode(errors="replace"), JobPlan)
    if isinstance(plan, Problem):
        return wrong_usage(
            f"the plan cannot be read: {ascii(str(plan))[:200]}", "give the output of `cliffwatch ci plan`"
        )
    return plan


def make_job_plan(policy: Policy, **facts: Any) -> JobPlan:
    """Builds a plan from a policy and the other fields of `JobPlan`."""
    return copy_fields(JobPlan, policy, **facts)
