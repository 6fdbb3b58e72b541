"""The columns of the table of samples.

A row is the value of one metric of one case in one boot (docs/formats.md).

New columns are only added at the end. `FORMAT_VERSION` increases when older readers would misread a row.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

FORMAT = "cliffwatch-samples"
FORMAT_VERSION = 1

Kind = Literal["string", "integer", "number", "array", "object"]


class TableRow(NamedTuple):
    """A row of the table. A field is None if it does not apply.

    - With `value` it is a sample.
    - Without `value` it is the outcome of a case that has no sample.
    - Without `suite` it is a boot or an arm without cases.

    `params` and `about` are JSON text. The columns are described in `COLUMNS`.
    """

    run: str
    platform: str | None
    mode: str | None
    arm: str
    commit: str | None
    boot: int | None
    stage: str | None
    suite: str | None
    benchmark: str | None
    params: str | None
    metric: str | None
    unit: str | None
    value: float | None
    block: int | None
    layout: str | None
    readings: tuple[float, ...] | None
    resolution: float | None
    outcome: str | None
    reason: str | None
    about: str | None


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the table."""

    name: str
    kind: Kind
    """A type of Table Schema. CSV holds `array` and `object` as JSON text, Parquet only `object`."""
    description: str


COLUMNS = (
    Column(
        "run", "string", "The run: its identity in a service, or `identity` of a result directory's run.json."
    ),
    Column("platform", "string", "The kind of machine."),
    Column(
        "mode",
        "string",
        "walltime or icount; numbers of one mode are never compared with those of the other.",
    ),
    Column("arm", "string", "The side of the run: base, head, control."),
    Column("commit", "string", "The commit that the arm's kernel was built from."),
    Column("boot", "integer", "The boot's number in the run; boots of a run have different numbers."),
    Column("stage", "string", "screen or confirm: the stage of the plan that the boot belongs to."),
    Column("suite", "string", "The suite of the benchmark."),
    Column("benchmark", "string", "The benchmark."),
    Column("params", "object", "Its parameters in their order, names and values as text."),
    Column("metric", "string", "The metric. Empty in a row that is the outcome of a case without a value."),
    Column("unit", "string", "The unit of value, readings and resolution."),
    Column("value", "number", "The boot's value."),
    Column("block", "integer", "The group of boots in which every arm is booted once."),
    Column("layout", "string", "The placement of the kernel's code, where boots of one kernel have several."),
    Column("readings", "array", "The values within the boot, warm-up dropped."),
    Column(
        "resolution", "number", "The smallest step that the printed digits can show; 0 where it is not known."
    ),
    Column(
        "outcome",
        "string",
        "How the case ended: ok, failed, refused, panic, timeout, unsupported, not-run, unchanged-build.",
    ),
    Column("reason", "string", "Why the case ended so; empty if ok."),
    Column("about", "object", "Facts about the arm and its run; only in the arm's first row."),
)

NAMES = tuple(column.name for column in COLUMNS)
assert TableRow._fields == NAMES

NEEDED = frozenset({"arm", "boot", "suite", "benchmark", "params", "metric", "unit", "value"})
"""Required columns. A table without them is in another format."""


def table_schema() -> dict[str, object]:
    """Returns the Table Schema (datapackage.org) for docs/schemas and for every public dataset."""
    return {
        "$schema": "https://datapackage.org/profiles/2.0/tableschema.json",
        "title": f"{FORMAT} {FORMAT_VERSION}",
        "fields": [_field(column) for column in COLUMNS],
        "missingValues": [""],
    }


def _field(column: Column) -> dict[str, object]:
    return {"name": column.name, "type": column.kind, "description": column.description}
