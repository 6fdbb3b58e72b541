"""Chooses the suites of a workflow from its policy. `auto` stands for the suites that the change affects."""

from pathlib import Path

from cliffwatch.catalogue.discovery import AUTO
from cliffwatch.catalogue.load import load_catalogue
from cliffwatch.failure import Failure
from cliffwatch.pull_request.mailing_list_series import MeasuredRange
from cliffwatch.pull_request.policy import Policy
from cliffwatch_runner.plan.suites.auto import ChosenSuites, suites_of_changes
from cliffwatch_runner.source.named_repository import repository_reader
from cliffwatch_runner.source.ranges.changes import changed_files


def suites_of_policy(tree: Path, policy: Policy, counting: MeasuredRange) -> ChosenSuites | Failure:
    """Chooses the suites for a range of commits. `tree` is a checkout that has these commits."""
    if AUTO not in policy.suites:
        return ChosenSuites(names=policy.suites)
    with repository_reader(tree) as read:
        changes = changed_files(read, counting.base, counting.head)
    if isinstance(changes, Failure):
        return changes
    return suites_of_changes(load_catalogue().suites, changes, policy.suites)
