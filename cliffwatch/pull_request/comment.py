"""The comments and the check run of a pull request, written from its state."""

from dataclasses import dataclass
from typing import Literal

from cliffwatch.pull_request.state import PullRequestState

Conclusion = Literal["neutral", "success", "failure", "cancelled", "action_required"]
Status = Literal["queued", "in_progress", "completed"]
FailOn = Literal["never", "regression", "confirmed"]
"""When a check run fails, of the policy: never, on any regression, on one that fresh boots confirmed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRun:
    """`title` is plain text, `summary` Markdown; `conclusion` is None until all is done (`status` is `completed`). `sequence` is the
    state's: GitHub keeps it as `external_id`, so that an earlier state never replaces a later one.
    """

    sequence: int
    title: str
    summary: str
    status: Status
    conclusion: Conclusion | None
    details_url: str | None = None


def sticky_marker(name: str = "") -> str:
    """How the first line of the one comment begins that is edited in place."""
    return f"<!-- cliffwatch:sticky{name and ':' + name} "


def sticky_comment(state: PullRequestState) -> str:
    """The comment that is edited in place: at most 65,536 characters, as GitHub counts them."""
    return f"{sticky_marker()}{state.sequence} -->\n{state.title}"


def regression_comment(state: PullRequestState) -> str | None:
    """The second comment, which notifies: of a regression that fresh boots confirmed; None where there is none."""
    measured = [compared for _, compared in state.measured() if compared.confirmed]
    return f"{state.title}" if measured else None


def check_run(state: PullRequestState, *, fail_on: FailOn = "never") -> CheckRun:
    """The verdict as the title of a check run; `neutral` unless the policy's `fail_on` is met."""
    conclusion: Conclusion = "neutral" if fail_on == "never" else "failure"
    return CheckRun(
        sequence=state.sequence,
        title=state.title,
        summary=sticky_comment(state),
        status="completed",
        conclusion=conclusion,
    )
