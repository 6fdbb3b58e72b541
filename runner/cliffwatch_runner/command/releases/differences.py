"""Compares the options of a command with those that the audit of a folder was begun with."""

from collections.abc import Iterator, Mapping, Sequence

from cliffwatch.counting import join_words
from cliffwatch.failure import Failure, wrong_usage
from cliffwatch.formats.releases_record import ReleaseRecord, ReleasesRecord
from cliffwatch_runner.command.releases.asked import NEWEST, Asked

_DEFAULTS: Mapping[str, object] = {"bench_from": NEWEST, "cc": "gcc", "pahole": "pahole", "cpus": 1}
_OPTIONS = {"cases": "--case"}


def find_differences(
    known: ReleasesRecord, releases: Sequence[ReleaseRecord], asked: Asked
) -> Failure | None:
    """Returns a failure that names each option with another value than before; None if all are equal."""
    newest = known.releases[-1].name
    before = {"profile": known.profile, **_without_defaults(known.settings, newest)}
    now = {"profile": asked.profile, **_without_defaults(asked.settings(), newest)}
    trees = _compare_trees(known.releases, releases)
    options = [
        *([trees] if trees else []),
        *(_compare(name, before.get(name), now.get(name)) for name in _names_of_different(before, now)),
    ]
    if not options:
        return None
    recorded = ", without --tree to keep its revisions" if trees else ""
    return wrong_usage(
        f"{asked.out} holds an audit with other options: {'; '.join(options)}",
        f"give its options again to go on with it{recorded}, or name another folder with --out",
    )


def _names_of_different(before: Mapping[str, object], now: Mapping[str, object]) -> Iterator[str]:
    return (name for name in {**before, **now} if before.get(name) != now.get(name))


def _without_defaults(settings: Mapping[str, object], newest: str) -> dict[str, object]:
    """The options that ask for something else than they would if they were not given."""
    given = {name: value for name, value in settings.items() if value not in (None, [], _DEFAULTS.get(name))}
    if given.get("bench_from") == newest:
        del given["bench_from"]
    return given


def _compare_trees(known: Sequence[ReleaseRecord], releases: Sequence[ReleaseRecord]) -> str:
    """`--tree: 6.1 and 6.12 now, 6.1 before`; empty if the revisions are equal."""
    if [each.commit for each in known] == [each.commit for each in releases]:
        return ""
    before, now = ([each.name for each in side] for side in (known, releases))
    if before == now:  # the names are the same, so their commits differ
        before, now = ([f"{each.name} ({each.commit[:12]})" for each in side] for side in (known, releases))
    return f"--tree: {join_words(now)} now, {join_words(before)} before"


def _compare(name: str, before: object, now: object) -> str:
    """`--cpus: 2 now, not given before`."""
    option = _OPTIONS.get(name, f"--{name.replace('_', '-')}")
    said = _say(now)
    if said == _say(before):
        return f"{option}: {said} has other content than before"
    return f"{option}: {said} now, {_say(before)} before"


def _say(value: object) -> str:
    if value is None:
        return "not given"
    if isinstance(value, list):
        return join_words([str(each["name"]) if isinstance(each, dict) else str(each) for each in value])
    return str(value)
