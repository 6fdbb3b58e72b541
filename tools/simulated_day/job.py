"""Stands in for `cliffwatch run` in a simulated job: writes the run directory that a real one would, and
takes its time.

Called by the worker with a real job's arguments; the standard library alone, so that fifty of them begin
quickly.
"""

import hashlib
import json
import os
import random
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ARMS = ("base", "head")


def given(name: str) -> str:
    return sys.argv[sys.argv.index(name) + 1]


def write(path: Path, content: Any) -> None:
    """Whole or not at all, as the runner writes: an upload may read it at any moment."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.new")
    fresh.write_text(json.dumps(content))
    fresh.replace(path)


def digest_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:40]


def arm(commit: str, parents: list[str], like: dict[str, Any]) -> dict[str, Any]:
    facts = {
        **like["facts"],
        "commit": commit,
        "tree": digest_of(f"tree {commit}"),
        "subject": f"bpf: Change {commit[:8]}",
        "parents": parents,
        "kernel": digest_of(f"kernel {commit}")[:32],
    }
    return {**like, "label": f"{commit[:12]} (bpf: Change)", "facts": facts}


def main() -> None:
    ratio, boot_seconds = float(os.environ["SIMULATED_RATIO"]), float(os.environ["SIMULATED_BOOT_SECONDS"])
    build_low, build_high = map(float, os.environ["SIMULATED_BUILD_SECONDS"].split())
    mode, seed, out = given("--mode"), int(given("--seed")), Path(given("--out"))
    base, head = given("--base"), given("--head")
    like = json.loads((Path(os.environ["SIMULATED_TEMPLATES"]) / f"{mode}.json").read_text())
    drawn = random.Random(seed)
    print(f"build {base[:12]} and {head[:12]}", flush=True)
    time.sleep(drawn.uniform(build_low, build_high) / ratio)
    record = like["record"]
    record |= {
        "status": "running",
        "created": datetime.now(UTC).isoformat(),
        "identity": digest_of(f"{base} {head} {given('--platform')} {mode} {seed}")[:32],
        "platform": given("--platform"),
        "mode": mode,
        "tree": given("--tree"),
        "arms": [arm(base, [], record["arms"][0]), arm(head, [base], record["arms"][1])],
    }
    record["plan"]["seed"] = seed
    write(out / "run.json", record)
    slower = 1.05 if drawn.random() < float(os.environ["SIMULATED_SLOWER"]) else 1.0
    levels = [
        random.Random(f"level {index}").uniform(20, 900) for index in range(len(record["plan"]["cases"]))
    ]
    spread = 0.01 if mode == "walltime" else 0.00001
    for boot in like["boots"]:
        time.sleep(boot_seconds / ratio)
        about = {
            **boot["boot"],
            "began": datetime.now(UTC).isoformat(),
            "ended": datetime.now(UTC).isoformat(),
        }
        for index, sample in enumerate(boot["samples"]):
            level = levels[index] * (slower if index == 0 and about["arm"] == "head" else 1.0)
            readings = [round(level * (1 + drawn.gauss(0, spread)), 3) for _ in range(3)]
            sample |= {"value": sorted(readings)[1], "readings": readings}
        folder = out / "boots" / f"{about['index']:03d}-{about['arm']}"
        for name, text in like["raw"].items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{text}\nboot {about['index']} of {seed}\n")
        write(folder / "environment.json", boot["environment"])
        write(folder / "samples.json", {name: boot[name] for name in ("samples", "outcomes", "problems")})
        write(folder / "boot.json", about)
        print(f"boot {about['index']} of {len(like['boots'])}: {about['arm']}", flush=True)
    write(out / "run.json", {**record, "status": "complete"})


if __name__ == "__main__":
    main()
