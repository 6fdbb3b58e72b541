"""Runs of a kernel against itself."""

import math
from dataclasses import replace
from pathlib import Path

from arms import SEQ_GET, arm
from made_documents import made_record

from cliffwatch.formats.result_directory import Run
from cliffwatch.samples import Arm

HOST = {"cpu": {"model_name": "AMD EPYC 7502", "microcode": ["0x830107c"]}, "kernel": {"release": "6.12.48"}}


def of_kernel(name: str, values: list[float], kernel: str = "a" * 32) -> Arm:
    made = arm(name, {SEQ_GET: values}, mode="walltime", metric="hits-latency")
    return replace(made, facts={"kernel": kernel, "release": "6.18.0", "commit": "b" * 40})


def run_of(*arms: Arm, platform: str = "amd-rome", suite: str = "local-storage") -> Run:
    record = made_record(mode="walltime", platform=platform, host=HOST, suites=(suite,))
    return Run(path=Path("run"), record=record, arms={each.name: each for each in arms}, stages=None)


def around(centre: float, spread: float, boots: int) -> list[float]:
    """Half of the boots above and half below, by `spread` of the log."""
    return [centre * math.exp(spread if index % 2 else -spread) for index in range(boots)]
