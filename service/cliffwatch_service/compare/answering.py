"""The answer for stored comparisons, the same on the page and in the API."""

from collections.abc import Sequence

from cliffwatch.comparing.attribution.cause import name_causes
from cliffwatch.comparing.attribution.documents import functions_of_document
from cliffwatch.comparing.comparison import took_turns
from cliffwatch.reports.answer import Answer as Sentences
from cliffwatch.reports.answer import Circumstances, answer_across
from cliffwatch.reports.several.across import Across
from cliffwatch_service.compare.pairing import Answer, targets_of


def answer_sentences(answers: Sequence[Answer], rows: Sequence[Across], suite: str = "") -> Sentences:
    """Answers for these rows of the comparisons. Causes are of `suite` alone, if one is named."""
    records = [record for each in answers for record in each.summary.functions if suite in ("", record.suite)]
    ordered = sorted(records, key=lambda each: -abs(each.head / each.base - 1) if each.base else 0.0)
    unchanged_builds = {
        outcome.case
        for each in answers
        for outcome in each.summary.left_out
        if outcome.status == "unchanged-build"
    }
    return answer_across(
        rows,
        targets_of(answers),
        Circumstances(
            in_turns=are_in_turns(answers),
            unchanged_builds=len(unchanged_builds),
            causes=name_causes(functions_of_document(ordered).values()),
            failures=[failure for each in answers for failure in each.summary.failures],
        ),
    )


def are_in_turns(answers: Sequence[Answer]) -> bool:
    """True if base and head took turns on every target, or its values are counted and do not drift."""
    return all(
        each.target.mode == "icount" or took_turns(warning.text for warning in each.summary.warnings)
        for each in answers
    )
