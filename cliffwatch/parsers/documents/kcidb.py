"""Reads KCIDB reports: of ours each boot's values, of others the number of a test; `kcidb_writing` writes
them.

Source: kcidb_io/schema of kcidb-io 141, versions 4 and 5.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping

from cliffwatch.parsers.cleaning import name_of
from cliffwatch.parsers.readings import ArmDescription, Found, Lost, Parsed, Problem, problem_at
from cliffwatch.samples import CaseKey, CaseStatus, Sample

_VERSION = re.compile(r'"version"\s*:\s*\{\s*"m(?:ajor|inor)"\s*:')
_MAJORS = (4, 5)
_STATUSES: Mapping[str, CaseStatus] = {"FAIL": "failed", "ERROR": "failed", "MISS": "not-run"}
_BAD = tuple(_STATUSES)


def looks_like_kcidb(text: str) -> bool:
    return _VERSION.search(text) is not None


def parse_kcidb(text: str) -> Parsed:
    """The n-th value of a metric of ours is its n-th boot's; a test that did not end well is a problem too.
    Total.
    """
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        return Parsed(found=(), problems=(problem_at(0, text, f"no JSON: {str(error)[:200]}"),))
    report = _object(content)
    if _object(report.get("version")).get("major") not in _MAJORS:
        return Parsed(found=(), problems=(problem_at(0, "", f"no report of KCIDB's versions {_MAJORS}"),))
    labels = {str(build.get("id")): build.get("comment") for build in _objects(report.get("builds"))}
    found: list[Found] = []
    problems: list[Problem] = []
    arms: dict[str, ArmDescription] = {}
    for test in _objects(report.get("tests")):
        measured = list(_found(test))
        found += measured
        if test.get("status") in _BAD:
            name = str(test.get("comment") or test.get("path") or test.get("id"))
            reason = str(test.get("log_excerpt") or "it did not end well")
            problems.append(problem_at(0, name, f"{test['status']}: {reason}", _lost(test, reason)))
        for arm in {each.arm for each in measured if each.arm} - arms.keys():
            arms[arm] = _described(test, labels.get(str(test.get("build_id"))))
    return Parsed(found=tuple(found), problems=tuple(problems), arms=arms)


def _found(test: Mapping[str, object]) -> Iterator[Found]:
    misc, number = _object(test.get("misc")), _object(test.get("number"))
    case = _case(misc)
    if case is not None:
        for each in _objects(misc["metrics"]):
            boots = each.get("boots")
            for value in filter(_is_number, boots if isinstance(boots, list) else ()):
                metric, unit = str(each.get("metric")), str(each.get("unit"))
                sample = Sample(case=case, metric=metric, unit=unit, value=float(value))
                yield Found(sample, str(misc.get("arm")))
    elif _is_number(number.get("value")):
        unit = name_of(str(number.get("unit") or "number"))
        case = CaseKey("kcidb", name_of(str(test.get("path") or test.get("id"))))
        sample = Sample(case=case, metric="number", unit=unit, value=float(str(number["value"])))
        yield Found(sample, doubted=test.get("status") in _BAD)


def _lost(test: Mapping[str, object], reason: str) -> Lost:
    """The result of a test that did not end well; of ours with the arm, and the boots that did are compared
    all the same.
    """
    misc = _object(test.get("misc"))
    case, status = _case(misc), _STATUSES.get(str(test.get("status")), "failed")
    if case is None:
        return Lost(CaseKey("kcidb", name_of(str(test.get("path") or test.get("id")))), status, why=reason)
    return Lost(case, status, why=reason, arm=str(misc.get("arm")))


def _case(misc: Mapping[str, object]) -> CaseKey | None:
    """Of a test of ours."""
    suite, benchmark, arm = (misc.get(name) for name in ("suite", "benchmark", "arm"))
    if isinstance(suite, str) and isinstance(benchmark, str) and isinstance(arm, str) and "metrics" in misc:
        params = {str(name): str(text) for name, text in _object(misc.get("params")).items()}
        return CaseKey(suite, benchmark, tuple(params.items()))
    return None


def _described(test: Mapping[str, object], label: object) -> ArmDescription:
    """By what `kcidb_writing` puts there."""
    known = _object(_object(test.get("environment")).get("misc"))
    settings = {str(name): text for name, text in known.items() if isinstance(text, str)}
    return ArmDescription(settings=settings, facts={"label": label} if isinstance(label, str) else {})


def _is_number(content: object) -> bool:
    if isinstance(content, bool) or not isinstance(content, int | float):
        return False
    try:
        return math.isfinite(float(content))
    except OverflowError:
        return False


def _object(content: object) -> Mapping[str, object]:
    return content if isinstance(content, dict) else {}


def _objects(content: object) -> list[Mapping[str, object]]:
    return [each for each in content if isinstance(each, dict)] if isinstance(content, list) else []
