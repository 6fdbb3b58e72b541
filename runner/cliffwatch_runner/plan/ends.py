"""Base and head of a run, from what was named: two revisions, a patch on head, or a series from a mailbox on its base."""

from dataclasses import dataclass

from cliffwatch.failure import Failure, wrong_usage
from cliffwatch_runner.plan.request import RunRequest
from cliffwatch_runner.source.apply_series import apply_series
from cliffwatch_runner.source.revision import Revision
from cliffwatch_runner.source.series_mailbox import Series, read_series
from cliffwatch_runner.source.tree import Tree


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """The two revisions that are compared; `notes` say what was chosen for the reader."""

    base: Revision
    head: Revision
    notes: tuple[str, ...] = ()


def wrong_ends(request: RunRequest) -> tuple[Failure, ...]:
    """What is wrong with the names of base and head, before anything is fetched."""
    if request.series is not None and (request.head is not None or request.patch is not None):
        return (wrong_usage("--series makes the head itself", "leave out --head and --patch"),)
    if request.series is not None:
        return ()
    missing = [f"--{name}" for name in ("base", "head") if getattr(request, name) is None]
    if not missing:
        return ()
    return (wrong_usage(f"{' and '.join(missing)} missing", "name two revisions, or a mailbox with --series"),)


def resolve_ends(request: RunRequest, tree: Tree) -> Ends | tuple[Failure, ...]:
    """The revisions, fetched into the mirror, with what was to be put on top."""
    if request.series is not None:
        series = read_series(request.series)
        return (series,) if isinstance(series, Failure) else _of_series(request, tree, series)
    base, head = tree.resolve(request.base or ""), tree.resolve(request.head or "")
    if isinstance(head, Revision) and request.patch is not None:
        head = tree.with_patch(head, request.patch)
    if isinstance(base, Failure) or isinstance(head, Failure):
        return tuple(each for each in (base, head) if isinstance(each, Failure))
    return Ends(base=base, head=head)


def _of_series(request: RunRequest, tree: Tree, series: Series) -> Ends | tuple[Failure, ...]:
    name = request.base or series.base
    if name is None:
        why = f"{request.series} names no base: it has no base-commit: line"
        return (wrong_usage(why, "say which revision it is for with --base"),)
    base = tree.resolve(name)
    if isinstance(base, Failure):
        return (base,)
    head = apply_series(tree.mirror, base, series)
    if isinstance(head, Failure):
        return (head,)
    of_mailbox = (
        f"base is its base-commit, {base.short}" if request.base is None else f"base is {base.short}, as asked for"
    )
    return Ends(base=base, head=head, notes=(*series.notes, of_mailbox))
