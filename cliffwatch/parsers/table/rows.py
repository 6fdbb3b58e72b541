"""Arms and boots as rows of the table."""

import json
from collections.abc import Iterable, Iterator, Mapping

from cliffwatch.parsers.table.columns import FORMAT, FORMAT_VERSION, TableRow
from cliffwatch.samples import Arm, Boot, CaseKey, CaseOutcome, Sample

_EMPTY = TableRow("", None, None, "", *[None] * (len(TableRow._fields) - 4))


def rows_of_arm(run: str, arm: Arm, boots: Iterable[Boot], settings: Mapping[str, str]) -> Iterator[list[TableRow]]:
    """An arm's rows, boot by boot; `boots` are read in turn, those of `arm` are not. An arm without any has a row of its own.

    `settings` are those of the run: `notable`, `stages` and `one-run`, each as text, where it has them.
    """
    about: str | None = about_arm(arm, settings)
    blank = _EMPTY._replace(
        run=run, platform=arm.platform, mode=arm.mode, arm=arm.name, commit=arm.facts.get("commit") or None
    )
    for boot in boots:
        rows = _rows_of_boot(blank, boot)
        if about is not None:
            rows[0] = rows[0]._replace(about=about)
            about = None
        yield rows
    if about is not None:
        yield [blank._replace(about=about)]


def about_arm(arm: Arm, settings: Mapping[str, str]) -> str:
    """JSON of what no column holds."""
    known = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "label": arm.label,
        "failure": arm.failure,
        "facts": dict(arm.facts),
        "environment": dict(arm.environment),
        "settings": dict(settings),
    }
    return json.dumps(known, ensure_ascii=False, separators=(",", ":"))


def _rows_of_boot(blank: TableRow, boot: Boot) -> list[TableRow]:
    """Samples in their order, each with the outcome of its case, then the outcomes of cases that have none."""
    of_boot = blank._replace(boot=boot.index, stage=boot.stage, block=boot.block, layout=boot.layout)
    outcomes = {outcome.case: outcome for outcome in boot.outcomes}
    params = {case: _params(case) for case in [*outcomes, *(sample.case for sample in boot.samples)]}
    rows = [_of_sample(of_boot, sample, params[sample.case], outcomes.get(sample.case)) for sample in boot.samples]
    measured = {sample.case for sample in boot.samples}
    rows += [
        _of_case(of_boot, case, params[case], outcome) for case, outcome in outcomes.items() if case not in measured
    ]
    return rows or [of_boot]


def _params(case: CaseKey) -> str:
    return json.dumps(dict(case.params), ensure_ascii=False, separators=(",", ":"))


def _of_case(of_boot: TableRow, case: CaseKey, params: str, outcome: CaseOutcome | None) -> TableRow:
    return of_boot._replace(
        suite=case.suite,
        benchmark=case.benchmark,
        params=params,
        outcome=None if outcome is None else outcome.status,
        reason=None if outcome is None else outcome.reason or None,
    )


def _of_sample(of_boot: TableRow, sample: Sample, params: str, outcome: CaseOutcome | None) -> TableRow:
    return _of_case(of_boot, sample.case, params, outcome)._replace(
        metric=sample.metric,
        unit=sample.unit,
        value=sample.value,
        readings=sample.readings or None,
        resolution=sample.resolution,
    )
