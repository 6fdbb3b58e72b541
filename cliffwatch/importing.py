"""Makes the side of a comparison from whatever a person names: a run, an arm of one, or a file."""

from dataclasses import dataclass
from pathlib import Path

from cliffwatch.catalogue.load import load_catalogue
from cliffwatch.parsers.detect import parse_any
from cliffwatch.readings import Parsed, Value
from cliffwatch.results import ResultProblem, read_run
from cliffwatch.samples import Arm, Boot, CaseKey, Sample

LARGEST_FILE_BYTES = 64 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """Why a name is no side of a comparison, and what to do."""

    reason: str
    next_step: str


def read_side(name: str) -> Arm | Unreadable:
    """A result directory (its head, or `DIR:ARM`), or a file of an import format."""
    path, _, arm = name.rpartition(":")
    if path and Path(path).is_dir():
        return _arm_of_run(Path(path), arm)
    if Path(name).is_dir():
        return _arm_of_run(Path(name), "head")
    return _file(Path(name))


def _arm_of_run(path: Path, arm: str) -> Arm | Unreadable:
    run = read_run(path)
    if isinstance(run, ResultProblem):
        return Unreadable(reason=f"{run.path}: {run.reason}", next_step=run.next_step)
    if arm not in run.arms:
        return Unreadable(reason=f"{path} has no arm '{arm}'", next_step=f"choose among: {', '.join(run.arms)}")
    return run.arms[arm]


def _file(path: Path) -> Arm | Unreadable:
    text = read_text(path)
    if isinstance(text, Unreadable):
        return text
    parsed = parse_any(text)
    if not parsed.values:
        first = parsed.problems[0].reason if parsed.problems else "it is empty"
        return Unreadable(
            reason=f"{path} holds no result: {first}", next_step="see `cliffwatch parse` for all that is wrong"
        )
    return arm_from_parsed(parsed, str(path))


def read_text(path: Path) -> str | Unreadable:
    """A file's text, at most 64 MiB of it, invalid UTF-8 replaced."""
    try:
        with path.open("rb") as file:
            return file.read(LARGEST_FILE_BYTES).decode(errors="replace")
    except OSError as error:
        return Unreadable(reason=f"{path} cannot be read: {error.strerror}", next_step="check the path")


def arm_from_parsed(parsed: Parsed, label: str) -> Arm:
    """The n-th value of a metric of a case is taken for the n-th boot."""
    catalogue = load_catalogue()
    boots: dict[int, list[Sample]] = {}
    seen: dict[tuple[CaseKey, str], int] = {}
    for value in parsed.values:
        sample = _sample(value, value.suite or catalogue.suite_of(value.benchmark) or "unknown")
        index = seen[sample.case, sample.metric] = seen.get((sample.case, sample.metric), 0) + 1
        boots.setdefault(index, []).append(sample)
    return Arm(
        name=Path(label).name,
        label=label,
        mode=None,
        platform=None,
        boots=tuple(Boot(index=index, block=index, samples=tuple(samples)) for index, samples in sorted(boots.items())),
    )


def _sample(value: Value, suite: str) -> Sample:
    return Sample(
        case=CaseKey(suite, value.benchmark, tuple(value.params.items())),
        metric=value.metric,
        unit=value.unit,
        value=value.value,
        readings=value.samples,
        resolution=value.resolution,
    )
