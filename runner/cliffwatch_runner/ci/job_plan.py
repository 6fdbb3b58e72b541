"""What the jobs of a workflow are to measure, as the first job tells it to the others: an output, in JSON."""

import json
import re
from dataclasses import asdict, dataclass
from typing import Any, Literal

from cliffwatch.failure import Failure, wrong_usage
from cliffwatch.pull_request.policy import Boots, FailOn, Policy, Target
from cliffwatch_runner.ci.event import COMMIT
from cliffwatch_runner.source.access import Trust

FORMAT = "cliffwatch-ci-plan"
_LARGEST = 64 << 10


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPlan:
    """Base and head are whole commits; `commits` counts those between them that are measured, 0 where nothing is.

    `pull_request` is None for a push. `notes` are sentences of ours. Nothing in it is text of somebody who has no write access.
    """

    base: str
    head: str
    commits: int
    pull_request: int | None
    series: int | None
    trust: Trust
    suites: tuple[str, ...]
    profile: Literal["smoke", "standard", "full"]
    boots: Boots
    bench_from: Literal["base", "head"]
    notable: float | None
    fail_on: tuple[FailOn, ...]
    targets: tuple[Target, ...]
    notes: tuple[str, ...]

    def text(self) -> str:
        """The plan as one line of ASCII."""
        return json.dumps({"format": FORMAT, **asdict(self)}, sort_keys=True)

    def matrix(self) -> str:
        """GitHub's matrix: a job for each target, none where nothing is measured."""
        rows = [
            {"platform": target.platform, "mode": target.mode, "runs-on": list(target.runs_on)}
            for target in self.targets
        ]
        return json.dumps({"include": rows})


def read_job_plan(text: str) -> JobPlan | Failure:
    """The plan that `JobPlan.text` wrote."""
    try:
        content = json.loads(text[:_LARGEST])
        plan = _plan(content)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        return wrong_usage(
            f"the plan cannot be read: {ascii(str(error))[:200]}", "give the output of `cliffwatch ci plan`"
        )
    return plan


def _plan(content: dict[str, Any]) -> JobPlan:
    lists = ("suites", "fail_on", "notes")
    if content.pop("format") != FORMAT:
        raise ValueError("another format")
    targets = tuple(Target(**{**each, "runs_on": tuple(each["runs_on"])}) for each in content["targets"])
    plan = JobPlan(**{**content, **{name: tuple(content[name]) for name in lists}, "targets": targets})
    if not all(COMMIT.fullmatch(each) for each in (plan.base, plan.head)):
        raise ValueError("base and head are whole commits")
    if not all(re.fullmatch(r"[a-z0-9-]+", suite) for suite in plan.suites):
        raise ValueError("no name of a suite")
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
