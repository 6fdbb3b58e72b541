"""Says why a suite, or some of its cases, could not be measured."""

import re
from collections.abc import Iterator, Sequence

from cliffwatch.catalogue.discovery import NO_CASE_RUNS
from cliffwatch.counting import count_noun, join_words
from cliffwatch.formats.releases_record import SuiteFailureRecord
from cliffwatch.formats.result_directory import Run
from cliffwatch.reports.several.releases.folder import unmeasured_cases
from cliffwatch.samples import CaseKey

_NO_BENCH = (NO_CASE_RUNS, "--case: ")
"""First words of failures of a bench that has none of the cases. The audit itself names cases by --case."""

_ERROR = re.compile(r"\berror\b|undefined reference|\*\*\*", re.IGNORECASE)
_MOST_ERRORS = 2
_LONGEST = 240


def tell_failures(failures: Sequence[SuiteFailureRecord], shared: Run | None) -> Iterator[str]:
    """Yields a sentence for each reason.

    `shared` is the suite's run on all releases. If there is one, only some cases failed: those that were
    tried again with a release's own bench.
    """
    by_message: dict[str, list[str]] = {}
    for failure in failures:
        message = with_errors(failure.message, failure.evidence)
        by_message.setdefault(message, []).append(failure.bench)
    for message, benches in by_message.items():
        if shared is None:
            yield f"{message} (with the bench of {join_words(benches)})"
            continue
        for bench in dict.fromkeys(benches):
            yield _tell_retry(message, bench, unmeasured_cases(shared.arms.get(bench)))


def _tell_retry(message: str, bench: str, cases: Sequence[CaseKey]) -> str:
    """`2 cases have no bench in 6.1: came with linux 7.2`."""
    named = f"{cases[0]} has" if len(cases) == 1 else f"{count_noun(len(cases), 'case')} have"
    if not message.startswith(_NO_BENCH):
        return f"{named} no value with the bench of {bench} either: {message}"
    reason = message.removeprefix(NO_CASE_RUNS) if message.startswith(NO_CASE_RUNS) else ""
    return f"{named} no bench in {bench}{reason}"


def with_errors(message: str, evidence: str) -> str:
    """A message with the first errors that a compiler or make printed; without any, the message alone."""
    errors = [line.strip()[:_LONGEST] for line in evidence.splitlines() if _ERROR.search(line)]
    return f"{message}: {' / '.join(errors[:_MOST_ERRORS])}" if errors else message
