"""Computes digests of the code that cases execute, per arm.

Equal code has equal digests, whichever host built it.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from cliffwatch.failure import Failure
from cliffwatch.formats.code.digests import ArmDigest, CaseCode, CodeDigests
from cliffwatch.samples import AUXILIARY_ARMS, CaseKey
from cliffwatch_runner.build.cache.executed import Executed
from cliffwatch_runner.build.code.functions import RECIPE, Digests, function_digests
from cliffwatch_runner.build.kernel import Kernel
from cliffwatch_runner.run.built_run import BuiltRun
from cliffwatch_runner.run.unchanged_builds.executed import ExecutionContext, execution_context

_FORM = f"1-{RECIPE}"
"""Version of the digest. Changes whenever the same code could get another digest."""

_DIGITS = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeOfArm:
    """What an arm's cases may execute."""

    functions: Digests
    """Digests of the kernel's functions, by name."""

    surroundings: ExecutionContext
    """Everything besides the kernel."""


def code_of_arms(run: BuiltRun) -> Mapping[str, CodeOfArm]:
    """Returns the code of each arm whose kernel was built and can be listed. Raises Stopped, OSError."""
    settings, code = run.tools.settings, dict[str, CodeOfArm]()
    for name, arm in run.arms.items():
        if name in AUXILIARY_ARMS or not isinstance(arm.kernel, Kernel):
            continue
        functions = function_digests(
            arm.kernel.folder, settings.built, run.tools.guest_sandbox, settings.should_stop
        )
        if not isinstance(functions, Failure):
            code[name] = CodeOfArm(functions=functions, surroundings=execution_context(run, name))
    return code


def digests_of_cases(
    arms: Mapping[str, CodeOfArm], executed: Executed, cases: Iterable[CaseKey]
) -> tuple[CaseCode, ...]:
    """Returns digests, in the given order, for the cases whose executed functions are known."""
    return tuple(
        CaseCode(suite=case.suite, benchmark=case.benchmark, params=dict(case.params), code=code)
        for case in cases
        if (code := digests_of(arms, executed, case)) is not None
    )


def digests_of(arms: Mapping[str, CodeOfArm], executed: Executed, case: CaseKey) -> CodeDigests | None:
    """Returns the digests of a case; None if its executed functions are not known.

    All arms use the same list of functions, so a function that only one arm executed makes no difference by
    itself.
    """
    of_case = executed.cases.get(case)
    if of_case is None:
        return None
    names = sorted(of_case | executed.start)
    return CodeDigests(
        functions=len(names),
        names=_digest([_FORM, names]),
        arms=tuple(
            ArmDigest(
                arm=name,
                digest=_digest(
                    [
                        _FORM,
                        arm.surroundings.of_suite(case.suite),
                        [(each, arm.functions.get(each)) for each in names],
                    ]
                ),
            )
            for name, arm in arms.items()
        ),
    )


def _digest(content: object) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:_DIGITS]
