"""`cliffwatch follow`: manages the followed branches, directly in the service's database."""

from pathlib import Path
from typing import cast, get_args

import rich_click as click
from rich.table import Table

from cliffwatch.catalogue.discovery import ALL
from cliffwatch.command import terminal
from cliffwatch.counting import count_noun
from cliffwatch.samples import DEFAULT_MODE, PROFILES, SERVICE_PROFILE, parse_target
from cliffwatch_service.command.token import data_dir_option, operator, operators_pool
from cliffwatch_service.history.backlog import backfill as measure_range
from cliffwatch_service.history.follow import follow_branch, unfollow
from cliffwatch_service.history.presets import DEFAULT_TARGET, PRESETS, Preset, entries_of
from cliffwatch_service.jobs.trees_allowed import refuse_address
from cliffwatch_service.runtime import clock
from cliffwatch_service.store import background, follows
from cliffwatch_service.store.follows import Policy

_NUMBER = click.argument("number", type=click.IntRange(1, 2**31 - 1))


@click.group()
def follow() -> None:
    """Follow branches: measure what is pushed to them, find steps, name culprits."""


def _targets(_: click.Context, __: click.Parameter, texts: tuple[str, ...]) -> list[tuple[str, str]]:
    targets: list[tuple[str, str]] = []
    for text in texts:
        target = parse_target(text)
        if target is None:
            raise click.BadParameter(
                f"{text!r} is not a target: write PLATFORM:MODE, such as amd-rome:walltime"
            )
        targets.append(target)
    return targets


@follow.command()
@click.argument("tree")
@click.option("--branch", help="Branch of the tree; a preset has one.")
@click.option(
    "--target",
    "targets",
    multiple=True,
    callback=_targets,
    help=f"PLATFORM[:MODE], in {DEFAULT_MODE} if no mode is given; may be repeated."
    f" Default: {':'.join(DEFAULT_TARGET)}.",
)
@click.option(
    "--suite", "suites", multiple=True, default=(ALL,), show_default=True, help="Suite; may be repeated."
)
@click.option(
    "--profile", type=click.Choice(PROFILES), default=SERVICE_PROFILE, show_default=True, help="Profile."
)
@click.option(
    "--policy",
    type=click.Choice(get_args(Policy)),
    help="Default: commit for icount targets, nightly for walltime targets.",
)
@click.option(
    "--anchor",
    help="Fixed reference kernel that walltime runs measure beside base and head:"
    " a full commit hash, a tag, or none."
    " Default: the branch's head when following began.",
)
@data_dir_option
def add(
    tree: str,
    branch: str | None,
    targets: list[tuple[str, str]],
    suites: tuple[str, ...],
    profile: str,
    policy: str | None,
    anchor: str | None,
    data_dir: Path | None,
) -> None:
    """Follow a branch from now on. TREE is the URL of a git tree, or a preset: bpf, bpf-next."""
    preset = PRESETS.get(tree)
    if preset is None and branch is None:
        raise click.UsageError(f"name the branch of {tree} with --branch, or a preset: {', '.join(PRESETS)}")
    where = Preset(tree, branch or "") if preset is None else Preset(preset.tree, branch or preset.branch)
    now = clock.now()
    with operators_pool(data_dir) as pool, pool.connection() as connection:
        refuse_address(where.tree)
        for entry in entries_of(where, targets, suites, profile, cast("Policy | None", policy), anchor):
            number = follow_branch(connection, entry, who=operator(), now=now)
            background.ask_poll(connection, number)
            on = ", ".join(":".join(target) for target in entry.targets)
            click.echo(f"{number}: {where.tree} {where.branch}, {entry.policy}, on {on}")


@follow.command(name="list")
@data_dir_option
def list_(data_dir: Path | None) -> None:
    """List followed branches and their problems."""
    with operators_pool(data_dir) as pool, pool.connection() as connection:
        rows = follows.list_follows(connection)
    table = Table(
        "number",
        "branch",
        "policy",
        "targets",
        "suites",
        "newest",
        "reference kernel",
        "backlog",
        "problem",
        box=None,
    )
    for row in rows:
        targets = " ".join(":".join(target) for target in row.targets)
        backlog = count_noun(row.backlog, "commit") if row.backlog else "-"
        newest = (row.requested_commit or "-")[:12]
        name = f"{row.tree} {row.branch}"
        problem = row.problem or row.anchor_problem or row.anchor_failure or "-"
        anchor = (row.anchor_commit or "-")[:12]
        suites = " ".join(row.suites)
        table.add_row(str(row.id), name, row.policy, targets, suites, newest, anchor, backlog, problem)
    terminal.console().print(table)


@follow.command()
@_NUMBER
@data_dir_option
def remove(number: int, data_dir: Path | None) -> None:
    """Stop following a branch. Its results stay."""
    with operators_pool(data_dir) as pool, pool.connection() as connection:
        unfollow(connection, number, who=operator(), now=clock.now())
    click.echo(f"{number} is no longer followed")


@follow.command()
@_NUMBER
@click.option("--base", required=True, help="First-parent commit of the branch, before the range.")
@click.option("--head", required=True, help="Last first-parent commit of the range.")
@data_dir_option
def backfill(number: int, base: str, head: str, data_dir: Path | None) -> None:
    """Measure every commit of a range of a followed branch, at coarse steps first."""
    with operators_pool(data_dir) as pool, pool.connection() as connection:
        commits = measure_range(connection, number, base, head, who=operator(), now=clock.now())
        background.ask_poll(connection, number)
    click.echo(f"{count_noun(commits, 'commit')} will be measured")
