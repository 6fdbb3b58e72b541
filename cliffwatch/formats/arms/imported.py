"""Facts about the arm of an imported file, besides its values and outcomes: a part of run.json."""

from typing import Annotated

import msgspec
from msgspec import Meta

from cliffwatch.formats.values import LARGEST_PLAN, CaseName, LongText, Name, OfCase, Part, Text
from cliffwatch.samples import Arm, Assume, Assumed, Better, CaseKey


class AssumedRecord(Part, frozen=True, kw_only=True):
    """What the file declares about a metric. A member is null if the file does not declare it."""

    metric: CaseName
    unit: CaseName
    better: Better | None
    assume: Assume | None


class LostRecord(OfCase, frozen=True, kw_only=True):
    """Values of a metric that could not be read. `reasons` has one reason per value."""

    metric: CaseName
    reasons: Annotated[tuple[Text, ...], Meta(max_length=1000)]


class ImportedRecord(Part, frozen=True, kw_only=True):
    """The facts of an imported file.

    `warnings` are sentences that must accompany every result of the file. `recorded` is everything that the
    file says about the measurement.
    """

    assumed: Annotated[tuple[AssumedRecord, ...], Meta(max_length=LARGEST_PLAN)] = ()
    environment: Annotated[dict[Name, Text], Meta(max_length=200)] = msgspec.field(default_factory=dict)
    recorded: Annotated[dict[Name, Text], Meta(max_length=1000)] = msgspec.field(default_factory=dict)
    lost: Annotated[tuple[LostRecord, ...], Meta(max_length=LARGEST_PLAN)] = ()
    warnings: Annotated[tuple[LongText, ...], Meta(max_length=100)] = ()

    @property
    def assumed_by_metric(self) -> dict[tuple[str, str], Assumed]:
        return {(each.metric, each.unit): Assumed(each.better, each.assume) for each in self.assumed}

    @property
    def lost_values(self) -> dict[tuple[CaseKey, str], tuple[str, ...]]:
        return {(each.case, each.metric): each.reasons for each in self.lost}


def imported_record(arm: Arm) -> ImportedRecord:
    return ImportedRecord(
        assumed=tuple(
            AssumedRecord(metric=metric, unit=unit, better=known.better, assume=known.assume)
            for (metric, unit), known in arm.assumed.items()
        ),
        environment={name: text[:4000] for name, text in list(arm.environment.items())[:200]},
        recorded={name: text[:4000] for name, text in list(arm.recorded.items())[:1000]},
        lost=tuple(
            LostRecord(
                suite=case.suite,
                benchmark=case.benchmark,
                params=dict(case.params),
                metric=metric,
                reasons=tuple(reason[:4000] for reason in reasons[:1000]),
            )
            for (case, metric), reasons in arm.lost.items()
        ),
        warnings=tuple(arm.warnings[:100]),
    )
