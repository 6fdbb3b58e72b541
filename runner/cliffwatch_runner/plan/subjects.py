"""Resolves the subjects of arms: revisions, with patches or a series on them, and prebuilt kernels."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from cliffwatch.failure import Failure, wrong_usage
from cliffwatch.samples import select_compared_arms
from cliffwatch_runner.plan.arms import NO_SETTINGS, ArmRequest, ArmSettings, check_arms
from cliffwatch_runner.plan.request import RunRequest
from cliffwatch_runner.source.ranges.ends import NamedEnds, choose_base, read_ends, same_files
from cliffwatch_runner.source.revision import Revision
from cliffwatch_runner.source.series.applying import apply_series
from cliffwatch_runner.source.series.mailbox import Series, read_series
from cliffwatch_runner.source.tree import Tree


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """An arm and its subject."""

    arm: str
    of: Revision | Path
    """A revision, or the path of a prebuilt kernel."""

    settings: ArmSettings = NO_SETTINGS

    @property
    def revision(self) -> Revision | None:
        return self.of if isinstance(self.of, Revision) else None

    @property
    def short(self) -> str:
        return self.of.short if isinstance(self.of, Revision) else self.of.name

    @property
    def label(self) -> str:
        """The subject and the settings, for people."""
        shown = f"{self.of.short} ({self.of.subject})" if isinstance(self.of, Revision) else self.of.name
        return ", ".join((shown, *self.settings.words()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Subjects:
    """The resolved arms of a run."""

    arms: tuple[Subject, ...]
    """In order. The others are compared with the first."""

    chosen: tuple[str, ...] = ()
    """Sentences for the first lines of plan and report: the commits that names resolved to."""

    notes: tuple[str, ...] = ()
    """Sentences for the end of the report."""


def compared_revisions(arms: Sequence[Subject]) -> list[Revision]:
    """Returns the revisions of the arms that reports compare."""
    compared = select_compared_arms(arm.arm for arm in arms)
    return [arm.of for arm in arms if arm.arm in compared and isinstance(arm.of, Revision)]


def check_subjects(request: RunRequest) -> tuple[Failure, ...]:
    """Checks the named subjects before anything is fetched."""
    wrong = _wrong_arms(request) if request.arms else _check_base_and_head(request)
    return () if wrong is None else (wrong,)


def _wrong_arms(request: RunRequest) -> Failure | None:
    also = [
        f"--{name}"
        for name in ("base", "head", "patch", "series", "kernel")
        if getattr(request, name) is not None
    ]
    if also:
        return wrong_usage(f"{' and '.join(also)} beside --arm", "name every side with --arm, or none")
    return check_arms(request.arms, least=2 if request.compares else 1)


def _check_base_and_head(request: RunRequest) -> Failure | None:
    ends = read_ends(request.base, request.head)
    if isinstance(ends, Failure):
        return ends
    if ends.head != request.head and (request.kernel is not None or request.series is not None):
        option = "--kernel" if request.kernel is not None else "--series"
        return wrong_usage(
            f"a range names base and head, and {option} is the head", "name one revision with --base"
        )
    if request.kernel is not None and (
        request.head is not None or request.patch is not None or request.series
    ):
        return wrong_usage("--kernel is the head itself", "leave out --head, --patch and --series")
    if request.series is not None:
        also = request.head is not None or request.patch is not None
        return wrong_usage("--series makes the head itself", "leave out --head and --patch") if also else None
    needed = ("base",) if request.kernel is not None else ("base", "head")
    missing = [f"--{name}" for name in needed if getattr(ends, name) is None]
    if not missing:
        return None
    return wrong_usage(
        f"{' and '.join(missing)} missing", "name two revisions, a mailbox with --series, or arms with --arm"
    )


def resolve_subjects(request: RunRequest, tree: Tree) -> Subjects | tuple[Failure, ...]:
    """Resolves the arms, fetches their revisions into the mirror and applies their patches.

    If the tree no longer has the anchor, the run goes on without it and a note says so.
    """
    resolved: list[Subject] = []
    notes: list[str] = []
    failures: list[Failure] = []
    named = NamedArms(arms=request.arms) if request.arms else _two_arms(request, tree)
    if isinstance(named, Failure):
        return (named,)
    arms, chosen = named.arms, [*request.chosen, *named.chosen]
    compared = select_compared_arms(arm.name for arm in arms)
    for arm in arms:
        if arm.series is not None and arm.rev is None and failures:  # the base of the series is missing
            series = read_series(arm.series)
            failures += [series] if isinstance(series, Failure) else []
            continue
        first = next((each.revision for each in resolved if each.revision is not None), None)
        subject = _subject(arm, tree, first, chosen, notes)
        if isinstance(subject, Failure) and subject.whose == "usage" and arm.name not in compared:
            notes.append(f"the anchor is not measured: {subject.message}")
        elif isinstance(subject, Failure):
            failures.append(subject)
        else:
            resolved.append(Subject(arm=arm.name, of=subject, settings=arm.settings))
    if failures:
        return tuple(failures)
    return Subjects(
        arms=tuple(resolved),
        chosen=tuple(dict.fromkeys((*chosen, *_equal_arms(resolved, compared)))),
        notes=tuple(notes),
    )


def _equal_arms(arms: Sequence[Subject], compared: Sequence[str]) -> Iterator[str]:
    """Yields a sentence for each arm that is identical to the first."""
    first, *others = (arm for arm in arms if arm.arm in compared)
    for arm in others:
        if first.revision is not None and arm.revision is not None and arm.settings == first.settings:
            sentence = same_files(first.revision, arm.arm, arm.revision)
            yield from (sentence,) if sentence else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedArms:
    """Arms before their resolution."""

    arms: tuple[ArmRequest, ...]
    chosen: tuple[str, ...] = ()
    """Says which commit was chosen as base."""


def _two_arms(request: RunRequest, tree: Tree) -> NamedArms | Failure:
    """Returns base and head as arms. If no base is named, a series may name it."""
    ends = read_ends(request.base, request.head)
    if isinstance(ends, Failure):
        return ends
    if request.series is None and request.kernel is None:
        return _two_revisions(request, ends, tree)
    base = ends.base
    if base is None and request.series is not None:
        series = read_series(request.series)
        if isinstance(series, Failure):
            return series
        base = series.base
        if base is None:
            return _missing_base(request.series, "--base")
    head = ArmRequest(name="head", kernel=request.kernel, series=request.series)
    return NamedArms(arms=(ArmRequest(name="base", rev=base), head))


def _two_revisions(request: RunRequest, ends: NamedEnds, tree: Tree) -> NamedArms | Failure:
    """Resolves base and head to commits. Unknown names are returned as they are, for the caller to report."""
    patch = () if request.patch is None else (request.patch,)
    base, head = tree.resolve(ends.base or ""), tree.resolve(ends.head or "")
    if isinstance(base, Failure) or isinstance(head, Failure):
        of_names = ArmRequest(name="base", rev=ends.base), ArmRequest(name="head", rev=ends.head, patch=patch)
        return NamedArms(arms=of_names)
    chosen = choose_base(tree, ends, base.commit, head.commit, patched=bool(patch))
    if isinstance(chosen, Failure):
        return chosen
    return NamedArms(
        arms=(
            ArmRequest(name="base", rev=chosen.commit),
            ArmRequest(name="head", rev=head.commit, patch=patch),
        ),
        chosen=(chosen.sentence,) if chosen.sentence else (),
    )


def _missing_base(series: Path, option: str) -> Failure:
    return wrong_usage(
        f"{series} names no base: it has no base-commit: line",
        f"name the revision it applies to with {option}",
    )


def _subject(
    arm: ArmRequest, tree: Tree, first: Revision | None, chosen: list[str], notes: list[str]
) -> Revision | Path | Failure:
    if arm.kernel is not None:
        return _prebuilt(arm.kernel)
    if arm.series is not None:
        series = read_series(arm.series)
        return series if isinstance(series, Failure) else _of_series(arm, tree, series, first, chosen, notes)
    revision = tree.resolve(arm.rev or "")
    for patch in arm.patch:
        if isinstance(revision, Revision):
            revision = tree.with_patch(revision, patch)
    return revision


def _of_series(
    arm: ArmRequest, tree: Tree, series: Series, first: Revision | None, chosen: list[str], notes: list[str]
) -> Revision | Failure:
    """Applies a series to the arm's own revision, else to the first arm's, else to its base-commit."""
    base: Revision | Failure | None = first if arm.rev is None else tree.resolve(arm.rev)
    if base is None and series.base is not None:
        base = tree.resolve(series.base)
    if base is None:
        return _missing_base(arm.series or Path(), "rev=")
    if isinstance(base, Failure):
        return base
    revision = apply_series(tree.mirror, base, series)
    if isinstance(revision, Revision):
        own = series.base is not None and base.commit.startswith(series.base)
        notes += series.notes
        chosen.append(f"Base is {base.short}, {'the base-commit of the series' if own else 'as named'}")
    return revision


def _prebuilt(path: Path) -> Path | Failure:
    if path.exists():
        return path.absolute()
    return wrong_usage(
        f"{path}: there is no such kernel", "name a package (.deb), an image, or a folder with either"
    )
