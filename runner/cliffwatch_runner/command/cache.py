"""`cliffwatch cache`: lists and prunes what builds leave on the disk."""

import json
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import NoReturn

import rich_click as click

from cliffwatch.command.numbers import FiniteRange
from cliffwatch.command.terminal import Form, echo_failure, form_option
from cliffwatch.counting import size_text
from cliffwatch.failure import Exit, wrong_usage
from cliffwatch_runner import clock
from cliffwatch_runner.build.cache.listing import KINDS, CacheEntry, EntryKind, Listing, list_cache
from cliffwatch_runner.build.cache.pruning import KEEP_BYTES, choose_entries, remove
from cliffwatch_runner.command.options.cache import Size, cache_option
from cliffwatch_runner.plan.writable_folders import open_cache, owner_name

_TITLES: dict[EntryKind, str] = {
    "kernel": "kernels",
    "bench": "benches",
    "program": "suites' programs",
    "root": "guest roots",
    "worktree": "worktrees",
    "ccache": "ccache",
    "mirror": "mirror of trees",
    "failure": "logs of failures",
    "leftover": "killed builds",
}
_SHORT = 12


@click.group(invoke_without_command=True)
@cache_option("Cache folder; default: ~/.cache/cliffwatch.")
@click.option("--entries", is_flag=True, help="List every entry, the most recently used first.")
@form_option("Format of the output; JSON has every entry.")
@click.pass_context
def cache(ctx: click.Context, cache: Path, *, entries: bool, form: Form) -> None:
    """Show what builds left on the disk, and when it was last used.

    The cache holds no results. Everything in it can be rebuilt, which takes time.
    """
    if ctx.invoked_subcommand is not None:
        ctx.obj = cache
        return
    listed = _load_listing(cache)
    if form == "json":
        click.echo(json.dumps(listed.document(), indent=1))
    else:
        click.echo("\n".join(_entry_lines(listed) if entries else table_lines(listed)))


@cache.command()
@cache_option("Cache folder; default: ~/.cache/cliffwatch.")
@click.option("--keep", type=Size(), default=KEEP_BYTES, show_default="20G", help="Size to keep.")
@click.option(
    "--older-than",
    type=FiniteRange(0),
    metavar="DAYS",
    help="Also remove entries that were not used for this many days.",
)
@click.option("--dry-run", is_flag=True, help="List what would be removed, and remove nothing.")
@click.pass_context
def prune(ctx: click.Context, cache: Path, keep: int, older_than: float | None, *, dry_run: bool) -> NoReturn:
    """Remove the least recently used entries until the rest fits. Entries in use by a run stay."""
    source = ctx.get_parameter_source("cache")
    if source is not None and source.name == "DEFAULT" and isinstance(ctx.obj, Path):
        cache = ctx.obj  # from `cliffwatch cache --cache DIR prune`
    listed = _load_listing(cache)
    unwritable = open_cache(cache)
    if unwritable is not None:
        raise SystemExit(echo_failure(unwritable))
    now = clock.now()
    since = None if older_than is None else now - timedelta(days=older_than)
    chosen = choose_entries(listed.entries, keep=keep, unused_since=since, now=now)
    if dry_run:
        _echo_entries("would remove", chosen)
        click.echo(_summary_line("Would remove", chosen, listed))
        raise SystemExit(Exit.DONE)
    pruned = remove(chosen)
    _echo_entries("removed", pruned.removed)
    for entry, reason in pruned.refused:
        click.echo(f"cliffwatch: {_entry_title(entry)} cannot be removed: {reason}", err=True)
    click.echo(_summary_line("Removed", pruned.removed, listed))
    raise SystemExit(Exit.HOST_FAILED if pruned.refused else Exit.DONE)


def _load_listing(cache: Path) -> Listing:
    if not cache.is_dir():
        click.echo(f"There is no cache at {cache}: nothing was built there. Name another with --cache.")
        raise SystemExit(Exit.DONE)
    try:
        return list_cache(cache)
    except PermissionError as error:
        path = Path(error.filename or cache)
        failure = wrong_usage(
            f"the cache {cache} cannot be read: {path} belongs to {owner_name(_owner(path))}",
            "run this as that user, or name a folder of your own with --cache",
        )
        raise SystemExit(echo_failure(failure)) from None


def _owner(folder: Path) -> int:
    """Returns the user id of the folder's owner, or that of its nearest accessible parent."""
    for path in (folder, *folder.parents):
        try:
            return path.lstat().st_uid
        except OSError:
            continue
    return 0


def table_lines(listed: Listing) -> list[str]:
    """Formats a line per kind of entry, the parts of worktrees, and the total."""
    rows = [("", "entries", "size", "last used (UTC)", "")]
    for kind in KINDS:
        entries = listed.of(kind)
        if not entries:
            continue
        rows.append((_TITLES[kind], *_sums(entries)))
        parts = {name: sum(entry.parts.get(name, 0) for entry in entries) for name in entries[0].parts}
        rows += [(f"  {name}", "", size_text(size), "", "") for name, size in parts.items()]
    rows.append(("all", *_sums(listed.entries)) if listed.entries else ("all", "0", size_text(0), "", ""))
    names, counts = (max(len(row[column]) for row in rows) for column in (0, 1))
    sizes, times = (max(len(row[column]) for row in rows) for column in (2, 3))
    lines = [
        f"{name:<{names}}  {count:>{counts}}  {size:>{sizes}}  {used:<{times}}  {note}".rstrip()
        for name, count, size, used, note in rows
    ]
    free = f"{size_text(listed.free_bytes)} are free on its file system."
    return [
        f"{listed.cache}: {free}",
        "",
        *lines,
        "",
        "`cliffwatch cache prune --dry-run` lists what would be removed.",
    ]


def _sums(entries: Sequence[CacheEntry]) -> tuple[str, str, str, str]:
    used = sum(entry.in_use for entry in entries)
    latest = max(entry.last_used for entry in entries)
    return (
        str(len(entries)),
        size_text(sum(entry.bytes for entry in entries)),
        _time(latest),
        f"{used} in use" if used else "",
    )


def _entry_lines(listed: Listing) -> Iterator[str]:
    latest_first = sorted(listed.entries, key=lambda entry: entry.last_used, reverse=True)
    for entry in latest_first:
        note = "in use" if entry.in_use else ""
        named = f"{entry.kind:<8}  {entry.name[:_SHORT]:<{_SHORT}}"
        yield (
            f"{named}  {size_text(entry.bytes):>8}  {_time(entry.last_used)}  {note:<6}  {entry.about}"
        ).rstrip()


def _echo_entries(verb: str, entries: Sequence[CacheEntry]) -> None:
    for entry in entries:
        click.echo(
            f"{verb} {_entry_title(entry)}, {size_text(entry.bytes)}, last used {_time(entry.last_used)} UTC"
        )


def _entry_title(entry: CacheEntry) -> str:
    about = f" ({entry.about})" if entry.about else ""
    return f"{entry.kind} {entry.name[:_SHORT]}{about}"


def _summary_line(verb: str, entries: Sequence[CacheEntry], listed: Listing) -> str:
    gone = sum(entry.bytes for entry in entries)
    used = sum(entry.bytes for entry in listed.entries if entry.in_use)
    note = f", {size_text(used)} of it in use" if used else ""
    what = (
        f"{len(entries)} {'entry' if len(entries) == 1 else 'entries'}, {size_text(gone)}"
        if entries
        else "nothing"
    )
    return f"{verb} {what}; {size_text(listed.bytes - gone)} are left{note}."


def _time(when: datetime) -> str:
    return f"{when:%Y-%m-%d %H:%M}"
