"""The content of run.json: enough to repeat the run and to know what its numbers are numbers of."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import cliffwatch
from cliffwatch.failure import Failure
from cliffwatch.results import FORMAT, FORMAT_VERSION, case_to_json, stages_to_json
from cliffwatch.samples import CaseOutcome, Mode
from cliffwatch_runner.build.bench import BenchProgram
from cliffwatch_runner.build.kernel import Kernel
from cliffwatch_runner.guest.argv import GuestShape
from cliffwatch_runner.plan.plan import Plan
from cliffwatch_runner.source.revision import Revision


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltArm:
    """One arm: its revision, and its kernel or why there is none."""

    revision: Revision
    kernel: Kernel | Failure


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """All that is known of a run before its first boot."""

    mode: Mode
    platform: str
    profile: str
    suites: tuple[str, ...]
    tree: str
    arms: Mapping[str, BuiltArm]
    bench: BenchProgram
    bench_from: str
    config_digest: str
    toolchain: Mapping[str, object]
    isolation: str
    shape: GuestShape
    plan: Plan
    left_out: tuple[CaseOutcome, ...]
    host: Mapping[str, object]
    notes: tuple[str, ...]


def identity(facts: RunFacts) -> str:
    """Equal for runs that measure the same in the same way: an interrupted one may go on under it.

    Boots of a second stage are left out: they follow from what the first one measures. So is the threshold: the boots are the
    same by any, and a run may go on under another.
    """
    screen = tuple(boot for boot in facts.plan.boots if boot.stage == "screen")
    content = {
        "arms": {name: [arm.revision.commit, _kernel_digest(arm)] for name, arm in facts.arms.items()},
        "bench": facts.bench.digest,
        "mode": facts.mode,
        "platform": facts.platform,
        "guest": facts.shape.record(),
        "plan": _measured_plan(replace(facts.plan, boots=screen)),
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]


def _kernel_digest(arm: BuiltArm) -> str:
    return arm.kernel.digest if isinstance(arm.kernel, Kernel) else "failed"


def record(facts: RunFacts, *, created: str, status: str, failures: Mapping[str, Failure]) -> dict[str, Any]:
    """run.json. `failures` are of arms whose kernel built and gave nothing in any boot."""
    return {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "cliffwatch_version": cliffwatch.__version__,
        "created": created,
        "status": status,
        "identity": identity(facts),
        "mode": facts.mode,
        "platform": facts.platform,
        "profile": facts.profile,
        "suites": list(facts.suites),
        "tree": facts.tree,
        "arms": {name: _arm(name, arm, failures) for name, arm in facts.arms.items()},
        "bench": {
            "from": facts.bench_from,
            "digest": facts.bench.digest,
            "source_digest": facts.bench.source_digest,
            "fixed_seed": facts.mode == "icount",
        },
        "config_digest": facts.config_digest,
        "toolchain": dict(facts.toolchain),
        "isolation": facts.isolation,
        "guest": facts.shape.record(),
        "plan": {**_measured_plan(facts.plan), "notable": facts.plan.notable},
        "left_out": [
            {**case_to_json(each.case), "status": each.status, "reason": each.reason} for each in facts.left_out
        ],
        "host": dict(facts.host),
        "notes": list(facts.notes),
    }


def _arm(name: str, arm: BuiltArm, failures: Mapping[str, Failure]) -> dict[str, Any]:
    revision = arm.revision
    failure = arm.kernel if isinstance(arm.kernel, Failure) else failures.get(name)
    kernel = arm.kernel if isinstance(arm.kernel, Kernel) else None
    return {
        "label": f"{revision.short} ({revision.subject})",
        "facts": {
            "commit": revision.commit,
            "tree": revision.tree,
            "release": revision.release,
            "subject": revision.subject,
            "author": revision.author,
            "author_date": revision.author_date,
            "commit_date": revision.commit_date,
            "parents": list(revision.parents),
            **({"kernel": kernel.digest, "config": kernel.config_digest} if kernel else {}),
        },
        "config_notes": list(kernel.notes) if kernel else [],
        "failure": None
        if failure is None
        else {
            "whose": failure.whose,
            "message": failure.message,
            "next_step": failure.next_step,
            "evidence": failure.evidence[:8000],
        },
    }


def _measured_plan(plan: Plan) -> dict[str, Any]:
    return {
        "seed": plan.seed,
        "stages": stages_to_json(plan.stages),
        "cases": [
            {
                **case_to_json(case.key),
                "argv": list(case.argv),
                "warmup": case.warmup,
                "duration": case.duration,
                "deadline": case.deadline,
            }
            for case in plan.cases
        ],
        "boots": [
            {
                "index": boot.index,
                "block": boot.block,
                "arm": boot.arm,
                "stage": boot.stage,
                "cases": list(boot.cases),
            }
            for boot in plan.boots
        ],
    }
