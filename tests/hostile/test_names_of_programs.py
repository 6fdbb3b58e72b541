"""A suite's own program names what it measures as it likes: what no document could hold is a problem that
says so, and the rest is stored.
"""

import pytest
from guest_plan import PLAN

from cliffwatch.formats.boot_record import SamplesRecord
from cliffwatch.formats.reading import document_text, read_as
from cliffwatch.samples import CaseKey, CaseOutcome, Sample
from cliffwatch_runner.results.files import _samples
from cliffwatch_runner.results.outcomes import CaseResult

CASE = PLAN.cases[PLAN.boots[0].cases[0]].key
GOOD = Sample(case=CASE, metric="throughput", unit="M ops/s", value=5.0)


@pytest.mark.parametrize(
    "odd",
    [
        GOOD._replace(metric="through\nput"),
        GOOD._replace(unit="\x1b[31mM ops/s"),
        GOOD._replace(unit="u" * 201),
        GOOD._replace(case=CaseKey("own", "b\x85", ())),
        GOOD._replace(case=CaseKey("own", "b", (("n" * 201, "1"),))),
        GOOD._replace(case=CaseKey("own", "b", (("n", "v" * 201),))),
    ],
)
def test_a_value_of_a_name_that_cannot_be_stored_costs_no_other(odd: Sample) -> None:
    outcome = CaseOutcome(case=CASE, status="ok")
    program = CaseOutcome(case=odd.case, status="failed", reason="refused")
    result = CaseResult(outcome=outcome, samples=(GOOD, odd), programs=(program,))

    read = read_as(
        document_text(_samples(PLAN, PLAN.boots[0], {PLAN.boots[0].cases[0]: result}, "")), SamplesRecord
    )

    assert isinstance(read, SamplesRecord)
    assert [(each.metric, each.unit) for each in read.samples] == [("throughput", "M ops/s")]
    assert read.outcomes[0].outcome == outcome
    assert read.problems
    assert all(each.reason == "a result of this name cannot be stored" for each in read.problems)
