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
    """A file's text, invalid UTF-8 replaced; a file of more than 64 MiB is refused rather than cut."""
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE_BYTES + 1)
    except OSError as error:
        return Unreadable(reason=f"{path} cannot be read: {error.strerror}", next_step="check the path")
    if len(content) > LARGEST_FILE_BYTES:
        most = LARGEST_FILE_BYTES >> 20
        return Unreadable(
            reason=f"{path} is larger than {most} MiB", next_step="split it by benchmark and compare the parts"
        )
    return content.decode(errors="replace")


def arm_from_parsed(parsed: Parsed, label: str) -> Arm:
    """The n-th value of a metric of a case is taken for the n-th boot."""
    catalogue = load_catalogue()
    boots: dict[int, list[Sample]] = {}
    seen: dict[tuple[int, str], int] = {}
    cases: dict[tuple[str | None, str, tuple[tuple[str, str], ...]], CaseKey] = {}
    for value in parsed.values:
        params = tuple(value.params.items())
        case = cases.get((value.suite, value.benchmark, params))
        if case is None:
            suite = value.suite or catalogue.suite_of(value.benchmark) or "unknown"
            case = cases[value.suite, value.benchmark, params] = CaseKey(suite, value.benchmark, params)
        index = seen[id(case), value.metric] = seen.get((id(case), value.metric), 0) + 1
        boots.setdefault(index, []).append(_sample(value, case))
    return Arm(
        name=Path(label).name,
        label=label,
        mode=None,
        platform=None,
        assumed=parsed.assumed,
        boots=tuple(Boot(index=index, block=index, samples=tuple(samples)) for index, samples in sorted(boots.items())),
    )


def _sample(value: Value, case: CaseKey) -> Sample:
    return Sample(
        case=case,
        metric=value.metric,
        unit=value.unit,
        value=value.value,
        readings=value.samples,
        resolution=value.resolution,
    )
