"""Carries the reason why a kernel built elsewhere is refused out of the steps that import it."""

from dataclasses import replace

from cliffwatch.failure import Failure, wrong_usage


class Refused(Exception):
    """Holds the failure. Its message is a sentence that follows the name of the kernel's file."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def make_refusal(message: str, next_step: str, evidence: str = "") -> Refused:
    return Refused(replace(wrong_usage(message, next_step), evidence=evidence))


def restate_failure(failure: Failure, message: str, next_step: str) -> Refused:
    """Restates the failure of a step in terms of its purpose. A failure of the host stays as it is."""
    return Refused(failure) if failure.whose == "host" else make_refusal(message, next_step, failure.evidence)
