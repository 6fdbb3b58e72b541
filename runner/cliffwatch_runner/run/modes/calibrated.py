"""Says before a walltime run how many boots the host's calibration suggests for its cases."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from cliffwatch.counting import count_noun
from cliffwatch.formats.calibration import CalibratedRow, CalibrationDocument
from cliffwatch.formats.host_facts import HostFacts
from cliffwatch.formats.reading import convert, read_as
from cliffwatch.parsers.readings import Problem
from cliffwatch.samples import CaseKey
from cliffwatch_runner.plan.run_plan import PlannedRun
from cliffwatch_runner.results.files import write_document

_FOLDER = "calibrations"
_LARGEST_BYTES = 64 << 20
_MOST_NAMED = 3


def keep_calibration(cache: Path, document: CalibrationDocument) -> None:
    """Stores a host's calibration for later runs, in the place of the one before. Raises OSError."""
    path = _path(cache, document.platform, document.mode)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_document(path, document)


def calibration_lines(planned: PlannedRun) -> Iterator[str]:
    """Yields what this host's calibration says about the boots of a plan; nothing without a calibration.

    Nor is anything said of a plan with a time budget, whose first boots show the same.
    """
    document = _load(planned.request.cache, planned.platform, planned.mode)
    if document is None or planned.plan.budget is not None:
        return
    passed = "" if document.passed else ", which did not pass"
    of_date = f"this host's calibration of {document.created[:10]}{passed}"
    changed = changed_since(document, convert(planned.host, HostFacts).machine())
    if changed:
        yield (
            f"{of_date} is of another {' and '.join(changed)}: `cliffwatch host calibrate` measures again how"
            " many boots cases need"
        )
        return
    stages, boots = planned.plan.stages, planned.request.screen_boots
    most = boots if stages is None else stages.looks[-1].boots
    said = suggestion(document.rows, [case.key for case in planned.plan.cases], most)
    if said is not None:
        yield f"{of_date}: {said}"


def changed_since(document: CalibrationDocument, machine: Mapping[str, str]) -> list[str]:
    """Returns the properties of the machine that changed since its calibration."""
    return [name for name, value in document.machine.items() if machine.get(name, value) != value]


def suggestion(rows: Sequence[CalibratedRow], cases: Sequence[CaseKey], boots: int) -> str | None:
    """Says which cases need more than these boots per arm for a change of 1 %.

    None if no case was calibrated.
    """
    known = {row.case: row for row in sorted(rows, key=_needed) if row.case in set(cases) and row.spread}
    if not known:
        return None
    more = [row for row in sorted(known.values(), key=_needed, reverse=True) if _needed(row) > boots]
    of_all = f"of {count_noun(len(known), 'calibrated case')}"
    planned = f"the {count_noun(boots, 'boot')} planned"
    if not more:
        return f"{planned} show a change of 1 % in every calibrated case"
    named = ", ".join(f"{row.boots_for_one_percent} for {row.case}" for row in more[:_MOST_NAMED])
    rest = len(more) - _MOST_NAMED
    others = f", and {count_noun(rest, 'case')} more" if rest > 0 else ""
    own = "" if all(row.layout_floor is None for row in more) else ", each in its own layout"
    return f"for a change of 1 %, {len(more)} {of_all} would need more than {planned}{own}: {named}{others}"


def _needed(row: CalibratedRow) -> float:
    return float("inf") if row.suggested_boots is None else row.suggested_boots


def _load(cache: Path, platform: str, mode: str) -> CalibrationDocument | None:
    try:
        with _path(cache, platform, mode).open("rb") as file:
            document = read_as(file.read(_LARGEST_BYTES), CalibrationDocument)
    except OSError:
        return None
    return None if isinstance(document, Problem) else document


def _path(cache: Path, platform: str, mode: str) -> Path:
    return cache / _FOLDER / f"{quote(platform, safe='')}-{mode}.json"
