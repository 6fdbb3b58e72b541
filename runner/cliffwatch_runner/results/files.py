"""Writes the result directory (docs/formats.md). Every file is complete when it has its name."""

import json
import os
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

from cliffwatch.results import FORMAT_VERSION, case_to_json, sample_to_json
from cliffwatch_runner.guest.environment import guest_environment
from cliffwatch_runner.guest.files import read_guest_file
from cliffwatch_runner.plan.plan import Plan, PlannedBoot
from cliffwatch_runner.results.outcomes import CaseResult, PartEnd


def write_json(path: Path, content: Mapping[str, object]) -> None:
    """Writes a file that is either there whole or not at all, also after a crash of the host."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.writing")
    with temporary.open("w") as file:
        json.dump(content, file, indent=1, allow_nan=False)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def finished_boot(run: Path, boot: PlannedBoot) -> bool:
    """`boot.json` is written last: where it is, the boot is done."""
    return (run / "boots" / boot.folder / "boot.json").exists()


def set_aside(home: Path) -> None:
    """Keeps what an interrupted boot left, under another name: it is begun anew, and nothing measured is thrown away."""
    if not home.exists():
        return
    number = 1
    while (aside := home.with_name(f"{home.name}.interrupted-{number}")).exists():
        number += 1
    home.replace(aside)


def write_boot(
    home: Path, plan: Plan, boot: PlannedBoot, parts: Sequence[PartEnd], *, began: datetime, ended: datetime
) -> None:
    """Writes environment.json and samples.json of a boot and, last, boot.json."""
    results = {index: result for part in parts for index, result in part.results.items()}
    write_json(home / "environment.json", _environment(home, len(parts)))
    write_json(home / "samples.json", _samples(plan, boot, results))
    write_json(
        home / "boot.json",
        {
            "format_version": FORMAT_VERSION,
            "index": boot.index,
            "block": boot.block,
            "arm": boot.arm,
            "stage": boot.stage,
            "began": began.isoformat(),
            "ended": ended.isoformat(),
            "status": _boot_status(boot, results, parts),
            "parts": [_part(part) for part in parts],
        },
    )


def _environment(home: Path, parts: int) -> dict[str, object]:
    texts = [read_guest_file(home / "1", f"guest/{name}") or "" for name in ("facts", "config", "stat-after")]
    return {"format_version": FORMAT_VERSION, "parts": parts, **guest_environment(*texts)}


def _samples(plan: Plan, boot: PlannedBoot, results: Mapping[int, CaseResult]) -> dict[str, object]:
    samples: list[object] = []
    outcomes: list[object] = []
    problems: list[object] = []
    for index in boot.cases:
        case = plan.cases[index].key
        result = results.get(index)
        if result is None:
            outcomes.append({**case_to_json(case), "status": "not-run", "reason": "the guest did not get to it"})
            continue
        outcomes.append({**case_to_json(case), "status": result.outcome.status, "reason": result.outcome.reason})
        samples += [sample_to_json(sample) for sample in result.samples]
        problems += [
            {**case_to_json(case), "line": problem.line, "text": problem.text, "reason": problem.reason}
            for problem in result.problems
        ]
    return {"format_version": FORMAT_VERSION, "samples": samples, "outcomes": outcomes, "problems": problems}


def _boot_status(boot: PlannedBoot, results: Mapping[int, CaseResult], parts: Sequence[PartEnd]) -> str:
    if all(index in results for index in boot.cases):
        return "complete"
    return parts[-1].end.status if parts else "stopped"


def _part(part: PartEnd) -> dict[str, object]:
    end = part.end
    return {
        "status": end.status,
        "seconds": round(end.seconds, 3),
        "last_case": end.last_case,
        "evidence": end.evidence[-8000:],
        "splats": [{"title": splat.title, "text": splat.text, "case": splat.case} for splat in end.splats[:20]],
        "unexpected_files": list(end.unexpected_files),
    }
