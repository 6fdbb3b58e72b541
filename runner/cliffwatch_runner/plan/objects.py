"""Chooses the BPF objects that suites verify.

They are the objects that a suite names, all others with a source in the tree, or those of a user's folder.
"""

import hashlib
import io
import tarfile
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from cliffwatch.catalogue.suite import EVERY_OBJECT, Benchmark, CaseSpec, PlannedCase, Suite
from cliffwatch.counting import size_text
from cliffwatch.failure import Failure, wrong_usage
from cliffwatch.samples import PROFILES
from cliffwatch_runner.build.programs.objects import ARCHIVE, SUFFIX
from cliffwatch_runner.build.selftests.sources import FOLDER
from cliffwatch_runner.guest.programs import GuestData
from cliffwatch_runner.source.revision import Revision, list_files
from cliffwatch_runner.source.tree import Tree

MOST_OBJECTS = 2000


def objects_of_tree(tree: Tree, revisions: Sequence[Revision]) -> tuple[str, ...]:
    """Returns the objects whose source is in the selftests of any of the revisions."""
    sources = {name for each in revisions for name in list_files(tree.mirror, each, f"{FOLDER}/progs")}
    return tuple(f"{name.removesuffix('.c')}{SUFFIX}" for name in sorted(sources) if name.endswith(".c"))


def with_objects(suite: Suite, objects: Sequence[str], *, own: bool) -> Suite:
    """Returns the suite with a case for each object.

    If `own`, the objects are the user's: they replace all others, in every profile.
    """
    param = None if suite.program is None else suite.program.objects
    if param is None:
        return suite
    return replace(
        suite, benchmarks=tuple(_with_objects(each, param, objects, own=own) for each in suite.benchmarks)
    )


def _with_objects(benchmark: Benchmark, param: str, objects: Sequence[str], *, own: bool) -> Benchmark:
    named = {dict(case.params)[param] for case in benchmark.cases}
    others = [name for name in objects if name not in named]
    cases: list[CaseSpec] = []
    for case in benchmark.cases:
        if own:
            cases += [replace(_of_object(case, param, name), profiles=PROFILES) for name in objects]
            break
        every = dict(case.params)[param] == EVERY_OBJECT
        cases += [_of_object(case, param, name) for name in others] if every else [case]
    return replace(benchmark, cases=tuple(cases))


def _of_object(case: CaseSpec, param: str, name: str) -> CaseSpec:
    """Returns the case with its object replaced in the parameter and the arguments."""
    before = dict(case.params)[param]
    params = tuple((key, name if key == param else value) for key, value in case.params)
    return replace(case, params=params, argv=tuple(name if word == before else word for word in case.argv))


def object_of(suite: Suite, case: PlannedCase) -> str | None:
    """Returns the object that a case verifies; None if it verifies none."""
    if suite.program is None or suite.program.objects is None:
        return None
    return dict(case.key.params)[suite.program.objects]


def objects_of_folder(folder: Path, limit: int) -> GuestData | Failure:
    """Packs all `*.o` files of a folder into one archive for the guests."""
    try:
        found = sorted(path for path in folder.glob("*.o") if path.is_file())
        wrong = next(_find_faults(folder, found, limit), None)
        if wrong is not None:
            return wrong
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            for path in found:
                content = path.read_bytes()
                entry = tarfile.TarInfo(path.name)
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))
    except OSError as error:
        return wrong_usage(
            f"--data: {folder} cannot be read: {error.strerror}", "make its files readable to you"
        )
    content = packed.getvalue()
    names = tuple(path.name for path in found)
    return GuestData(name=ARCHIVE, content=content, digest=hashlib.sha256(content).hexdigest(), objects=names)


def _find_faults(folder: Path, found: Collection[Path], limit: int) -> Iterator[Failure]:
    if not found:
        yield wrong_usage(f"--data: there is no object in {folder}", "name a folder with files called *.o")
    if len(found) > MOST_OBJECTS:
        yield wrong_usage(f"--data: {folder} has more than {MOST_OBJECTS} objects", "give fewer at a time")
    odd = next((each.name for each in found if not each.name.isprintable() or len(each.name) > 99), None)
    if odd is not None:
        yield wrong_usage(
            f"--data: the name {odd!r} in {folder} is too long, or not printable",
            "use at most 99 plain letters",
        )
    size = sum(each.stat().st_size for each in found)
    if size > limit:
        yield wrong_usage(
            f"--data: the objects of {folder} have {size_text(size)}, "
            f"and a guest takes at most {size_text(limit)}",
            "strip them (llvm-strip -g), or give fewer at a time: the guest keeps them in its memory",
        )
