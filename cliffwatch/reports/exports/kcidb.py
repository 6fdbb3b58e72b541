"""Writes KCIDB's I/O format 5.3, in which kernel CI systems report to the common database of kernelci.org.

Source: kcidb_io/schema/v05_03.py of kcidb-io 141. A checkout is an arm's commit, a build its kernel, and a
test a case of an arm. A test's status is the worst of its boots. Its number is the median over boots of the
case's primary metric. All metrics with the value of each boot are in `misc`, which KCIDB stores but does not
interpret.
"""

import json
import re
import statistics
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import indent
from typing import NamedTuple

from cliffwatch.formats.reading import as_json
from cliffwatch.formats.run_record import RunRecord
from cliffwatch.identities import digest_of
from cliffwatch.reports.context import mode_words
from cliffwatch.reports.exports.kcidb_form import (
    Build,
    Checkout,
    Environment,
    Measured,
    Metric,
    Report,
    Test,
    Value,
    Version,
)
from cliffwatch.samples import (
    CAUTION,
    HOST_FAULTS,
    Arm,
    CaseKey,
    CaseOutcome,
    CaseStatus,
    Mode,
    format_faults,
)
from cliffwatch.trees.addresses import TreeAddress, read_address

VERSION = Version(major=5, minor=3)
ORIGIN = re.compile(r"[a-z0-9_]+")
_LONGEST_EXCERPT = 16384
_COMMIT = re.compile(r"[0-9a-f]{40}")
_NOT_IN_A_PATH = re.compile(r"[^a-zA-Z0-9_-]+")
_X86 = ("q35", "pc", "microvm")

Primary = Callable[[CaseKey, str, str, Mode | None], bool]
"""Whether a metric decides its case: answers for a case, metric, unit and mode."""

_STATUS: Mapping[CaseStatus, str] = {
    "panic": "FAIL",  # the kernel died in it
    "timeout": "FAIL",
    "failed": "ERROR",  # the benchmark ran and gave nothing that can be believed
    "not-run": "MISS",
    "ok": "DONE",  # measured: whether the code is right is for a comparison to say
    "refused": (
        "DONE"
    ),  # a selftest may be there to be refused: whether it was before is for a comparison to say
    "unsupported": "SKIP",
    "unchanged-build": "SKIP",
}
_WORST = ("FAIL", "ERROR", "MISS", "DONE", "SKIP")
_BUILD_STATUS = {"kernel": "FAIL", "usage": "ERROR", "host": "MISS"}


class _Ended(NamedTuple):
    """How a case ended over all boots."""

    status: str | None
    """KCIDB status; None if no boot has an outcome of the case. The case then counts as measured."""
    reason: str


_NO_OUTCOME = _Ended(None, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reported:
    """Who reports what."""

    origin: str
    """Name of the CI system."""
    run: str
    """Identity of the run."""
    tree: str = ""
    created: str = ""
    """Start of the run in ISO 8601; empty if unknown."""
    whose: Mapping[str, str] = field(default_factory=dict)
    """Party at fault (`kernel`, `usage` or `host`), by name of the failed arm."""
    evidence: Mapping[str, str] = field(default_factory=dict)
    """Raw text that shows the failure, by name of the failed arm."""


def build_report(record: RunRecord, run: str, origin: str) -> Reported:
    """Collects the facts from run.json. `run` is the identity of the run."""
    failures = {arm.name: arm.failure for arm in record.arms if arm.failure is not None}
    return Reported(
        origin=origin,
        run=run,
        tree=record.tree,
        created=record.created,
        whose={name: failure.whose for name, failure in failures.items()},
        evidence={name: failure.evidence for name, failure in failures.items()},
    )


def format_kcidb(arms: Iterable[Arm], reported: Reported, primary: Primary) -> str:
    """Writes a report of all arms. Ids depend on the content, so a repeated report changes nothing."""
    return "".join(kcidb_pieces(arms, reported, primary))


def kcidb_pieces(arms: Iterable[Arm], reported: Reported, primary: Primary) -> Iterator[str]:
    """Yields the text of `format_kcidb` test by test.

    Reads an arm's boots once and keeps eight bytes per value.
    """
    arms = tuple(arms)
    checkouts = {arm.name: _checkout(arm, reported) for arm in arms}
    builds = {arm.name: _build(arm, reported, checkouts[arm.name].id) for arm in arms}
    report = Report(
        version=VERSION,
        checkouts=tuple({each.id: each for each in reversed(checkouts.values())}.values())[::-1],
        builds=tuple({each.id: each for each in reversed(builds.values())}.values())[::-1],
        tests=(),
    )
    before, _, after = _json(report).rpartition("[]")
    between = before + "["
    for arm in arms:
        for test in _tests(arm, reported, builds[arm.name].id, primary):
            yield between + "\n" + indent(_json(test), "  ")
            between = ","
    yield ("\n ]" if between == "," else between + "]") + after + "\n"


def _json(part: Report | Test) -> str:
    return json.dumps(as_json(part), indent=1, allow_nan=False)


def _identity(reported: Reported, *content: object) -> str:
    return f"{reported.origin}:{digest_of(list(content))}"


def _checkout(arm: Arm, reported: Reported) -> Checkout:
    commit = arm.facts.get("commit", "")
    address = read_address(reported.tree)
    https = isinstance(address, TreeAddress) and address.scheme == "https"
    return Checkout(
        id=_identity(reported, "checkout", commit or [reported.run, arm.name], reported.tree),
        origin=reported.origin,
        git_repository_url=_text(address.url) if isinstance(address, TreeAddress) and https else "",
        git_commit_hash=commit if _COMMIT.fullmatch(commit) else "",
        start_time=_text(reported.created),
        comment=_text(arm.label),
        valid=True,
        misc={key: _text(value) for key, value in arm.facts.items() if key != "author"},
    )


def _build(arm: Arm, reported: Reported, checkout: str) -> Build:
    kernel = arm.facts.get("kernel") or [arm.environment.get(name, "") for name in ("config", "compiler")]
    whose = reported.whose.get(arm.name, "kernel")
    return Build(
        checkout_id=checkout,
        id=_identity(reported, "build", checkout, kernel, arm.failure),
        origin=reported.origin,
        architecture=_architecture(arm),
        compiler=_text(arm.environment.get("compiler", "")),
        start_time=_text(reported.created),
        comment=_text(arm.label),
        status="PASS" if arm.failure is None else _BUILD_STATUS.get(whose, "ERROR"),
        log_excerpt=_excerpt(arm.failure or "", reported.evidence.get(arm.name, "")),
        misc=_drop_unknown({name: arm.facts[name] for name in ("kernel", "config") if name in arm.facts}),
    )


def _architecture(arm: Arm) -> str:
    try:
        machine = json.loads(arm.environment.get("guest", "{}")).get("machine")
    except (ValueError, AttributeError, RecursionError):
        machine = None
    return "x86_64" if machine in _X86 else ""


def _tests(arm: Arm, reported: Reported, build: str, primary: Primary) -> Iterator[Test]:
    """Yields one test per case, in order of first occurrence in the boots."""
    worst: dict[CaseKey, _Ended] = {}
    values: dict[CaseKey, dict[tuple[str, str], array[float]]] = {}
    for boot in arm.boots:
        for sample in boot.samples:
            worst.setdefault(sample.case, _NO_OUTCOME)
            values.setdefault(sample.case, {}).setdefault((sample.metric, sample.unit), array("d")).append(
                sample.value
            )
        for outcome in boot.outcomes:
            worst[outcome.case] = _choose_worse(worst.get(outcome.case, _NO_OUTCOME), outcome)
    named = _Named(
        build=build,
        origin=reported.origin,
        environment=Environment(
            comment=_text(
                ", ".join(filter(None, (arm.platform, arm.mode and mode_words(arm.mode, arm.platform))))
            ),
            misc=_drop_unknown(
                {
                    **arm.environment,
                    "platform": arm.platform or "",
                    "mode": arm.mode or "",
                    HOST_FAULTS: format_faults(arm.host_faults),
                    CAUTION: "; ".join(arm.cautions),
                }
            ),
        ),
    )
    for case, ended in worst.items():
        identity = _identity(reported, "test", reported.run, arm.name, case)
        yield _test(named, identity, arm, case, ended, values.get(case, {}), primary)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Named:
    """The members that all tests of an arm share."""

    build: str
    origin: str
    environment: Environment


def _test(
    named: _Named,
    identity: str,
    arm: Arm,
    case: CaseKey,
    ended: _Ended,
    values: Mapping[tuple[str, str], Sequence[float]],
    primary: Primary,
) -> Test:
    measured = next((key for key in values if primary(case, *key, arm.mode)), next(iter(values), None))
    metrics = [
        Metric(metric=_text(metric), unit=_text(unit), median=statistics.median(boots), boots=tuple(boots))
        for (metric, unit), boots in values.items()
    ]
    return Test(
        build_id=named.build,
        id=identity,
        origin=named.origin,
        environment=named.environment,
        path=".".join(_part(part) for part in ("bpf", case.suite, *str(case).split("/"))),
        comment=_text(str(case)),
        status=ended.status or "DONE",
        log_excerpt=_excerpt(ended.reason, ""),
        number=(
            None
            if measured is None
            else Value(value=statistics.median(values[measured]), unit=_text(measured[1]))
        ),
        misc=Measured(
            arm=arm.name,
            suite=case.suite,
            benchmark=case.benchmark,
            params=dict(case.params),
            metric=None if measured is None else measured[0],
            metrics=tuple(metrics),
        ),
    )


def _choose_worse(ended: _Ended, outcome: CaseOutcome) -> _Ended:
    """Returns the worse of the end so far and one more outcome; the earlier if both are equal."""
    status = _STATUS[outcome.status]
    if ended.status is not None and _WORST.index(ended.status) <= _WORST.index(status):
        return ended
    return _Ended(status, outcome.reason)


def _part(text: str) -> str:
    return _NOT_IN_A_PATH.sub("_", text) or "_"


def _excerpt(message: str, evidence: str) -> str:
    return _text("\n".join(filter(None, (message, evidence)))[:_LONGEST_EXCERPT])


def _drop_unknown(known: Mapping[str, str]) -> dict[str, str]:
    """Leaves out empty texts: KCIDB does not allow null."""
    return {name: _text(text) for name, text in known.items() if text}


def _text(text: str) -> str:
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}")
