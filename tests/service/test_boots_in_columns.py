"""Stored boots as arrays: the boots of an arm are the same whether each is read for itself or
all together.
"""

import random
from collections.abc import Sequence
from typing import Any

import pytest
from service_runs import boots_of as uploaded
from service_runs import run_of

from cliffwatch.columns import BootsOfColumns, Columns, RowKey, bad_outcomes_of, columns_of, outcomes_of
from cliffwatch.formats.uploads import boot_upload_of
from cliffwatch.parsers.readings import Problem
from cliffwatch.samples import Boot
from cliffwatch_service.ingest import boot_document
from cliffwatch_service.ingest.boot_document import boot_of, boots_of, pack

Stored = list[tuple[bytes, boot_document.Columns, Sequence[float]]]


def stored(drawn: random.Random, *, one_lost: bool = False) -> Stored:
    """An arm as the database has it: readings, resolutions, stages and outcomes vary; `one_lost` leaves a
    sample out of one boot.
    """
    arm: Stored = []
    known: dict[int, boot_document.Columns] = {}
    for number, body in uploaded(run_of(boots=7, cases=5, seed=drawn.randrange(9))):
        body["boot"]["stage"] = drawn.choice(["screen", "confirm"])
        body["boot"]["layout"] = drawn.choice([None, "a", "b"])
        for sample in body["samples"]:
            sample["resolution"] = drawn.choice([0.0, 0.001])
            if drawn.random() < 0.5:
                sample["readings"] = [sample["value"], sample["value"] + 1]
        if drawn.random() < 0.3:
            body["outcomes"] = [{**outcome(body), "status": "failed", "reason": "it read nothing"}]
        if one_lost and number == 3:
            body["samples"].pop()
        upload = boot_upload_of(body)
        assert not isinstance(upload, Problem)
        keys = [RowKey(each.case, each.metric, each.unit) for each in upload.samples]
        order = {case: -place for place, (case, _, _) in enumerate(keys)}
        columns = known.setdefault(len(keys), boot_document.columns_of(keys, order))
        arm.append((pack(body, upload, upload.samples), columns, [each.value for each in upload.samples]))
    return arm


def outcome(body: dict[str, Any]) -> dict[str, Any]:
    return {name: body["samples"][0][name] for name in ("suite", "benchmark", "params")}


def listed(columns: Columns) -> list[Any]:
    boots = columns.boots
    arrays = (
        columns.starts,
        columns.values,
        columns.resolutions,
        columns.places,
        boots.index,
        boots.block,
        boots.confirms,
    )
    return [list(columns.keys), columns.readings, boots.layouts, *(each.tolist() for each in arrays)]


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("one_lost", [False, True])
def test_boots_of_an_arm_are_those_of_its_documents(seed: int, one_lost: bool) -> None:
    arm = stored(random.Random(seed), one_lost=one_lost)
    together: Sequence[Boot] = boots_of(arm)
    singly = tuple(boot_of(*each) for each in arm)

    assert isinstance(together, BootsOfColumns) == (not one_lost)
    assert list(outcomes_of(together)) == list(outcomes_of(singly))
    assert list(bad_outcomes_of(together)) == [each for each in outcomes_of(singly) if each.status != "ok"]
    assert tuple(together) == singly
    assert listed(columns_of(together)) == listed(columns_of(singly))


def test_an_arm_without_boots_has_none() -> None:
    assert tuple(boots_of([])) == ()
