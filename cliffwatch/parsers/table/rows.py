"""Converts arms and boots to rows of the table of samples, as exports to CSV and Parquet write it."""

import json
from collections.abc import Iterable, Iterator, Mapping

from cliffwatch.parsers.table.columns import FORMAT, FORMAT_VERSION, TableRow
from cliffwatch.samples import Arm, Boot, CaseKey, CaseOutcome

_WHERE = TableRow._fields.index("suite")
_EMPTY = TableRow("", None, None, "", *[None] * (len(TableRow._fields) - 4))


def rows_of_arm(
    run: str, arm: Arm, boots: Iterable[Boot], settings: Mapping[str, str]
) -> Iterator[list[TableRow]]:
    """Yields an arm's rows, boot by boot. An arm without boots gets one row.

    `boots` replaces `arm.boots` and is iterated once. `settings` are those of the run that exist: `notable`,
    `stages` and `one-run`, as text.
    """
    about: str | None = about_arm(arm, settings)
    blank = _EMPTY._replace(
        run=run, platform=arm.platform, mode=arm.mode, arm=arm.name, commit=arm.facts.get("commit") or None
    )
    params: dict[CaseKey, str] = {}
    for boot in boots:
        rows = _rows_of_boot(blank, boot, params)
        if about is not None:
            rows[0] = rows[0]._replace(about=about)
            about = None
        yield rows
    if about is not None:
        yield [blank._replace(about=about)]


def about_arm(arm: Arm, settings: Mapping[str, str]) -> str:
    """Returns the JSON of the column `about`: the facts about arm and run that have no column."""
    known = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "label": arm.label,
        "failure": arm.failure,
        "facts": dict(arm.facts),
        "environment": dict(arm.environment),
        "settings": dict(settings),
        **({"warnings": list(arm.told)} if arm.told else {}),
        **({"assumed": [[*key, *assumed] for key, assumed in arm.assumed.items()]} if arm.assumed else {}),
    }
    return json.dumps(known, ensure_ascii=False, separators=(",", ":"))


def _rows_of_boot(blank: TableRow, boot: Boot, params: dict[CaseKey, str]) -> list[TableRow]:
    """Returns the samples, each with the outcome of its case, then the outcomes of cases without samples.

    `params` caches parameters as text between boots, because there may be hundreds of thousands of rows.
    """
    of_boot = blank._replace(boot=boot.index, stage=boot.stage, block=boot.block, layout=boot.layout)
    outcomes = {outcome.case: outcome for outcome in boot.outcomes}
    rows: list[TableRow] = []
    of_cases: dict[CaseKey, tuple[str | None, ...]] = {}
    where, beside = of_boot[:_WHERE], (boot.block, boot.layout)
    for sample in boot.samples:
        of_case = of_cases.get(sample.case)
        if of_case is None:
            of_case = of_cases[sample.case] = _of_case(sample.case, outcomes.get(sample.case), params)
        suite, benchmark, text, status, reason = of_case
        value = (sample.metric, sample.unit, sample.value)
        more = (sample.readings or None, sample.resolution)
        rows.append(
            TableRow._make((*where, suite, benchmark, text, *value, *beside, *more, status, reason, None))
        )
    for case, outcome in outcomes.items():
        if case not in of_cases:
            suite, benchmark, text, status, reason = _of_case(case, outcome, params)
            none = (None, None, None)
            rows.append(
                TableRow._make(
                    (*where, suite, benchmark, text, *none, *beside, *none[:2], status, reason, None)
                )
            )
    return rows or [of_boot]


def _of_case(
    case: CaseKey, outcome: CaseOutcome | None, params: dict[CaseKey, str]
) -> tuple[str | None, ...]:
    """Returns suite, benchmark, parameters as text, outcome and reason."""
    text = params.get(case)
    if text is None:
        text = params[case] = json.dumps(dict(case.params), ensure_ascii=False, separators=(",", ":"))
    status, reason = (None, None) if outcome is None else (outcome.status, outcome.reason or None)
    return case.suite, case.benchmark, text, status, reason
