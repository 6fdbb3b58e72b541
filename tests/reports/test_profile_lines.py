"""Reports show the profile of what changed: functions by share of time, and what the processor's counters
say.
"""

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from cliffwatch.command.main import main
from cliffwatch.comparing.attribution.profiles import PROFILE_TITLE, profile_lines
from cliffwatch.formats.code.profile import CaseProfile, CounterRecord, ProfiledFunction, ProfileRecord
from cliffwatch.formats.reading import document_text

RUN = Path(__file__).parents[1] / "data/runs/uninlined"


def profile(
    arm: str, samples: dict[str, int], problems: tuple[str, ...] = (), **counters: float | None
) -> CaseProfile:
    total = sum(samples.values()) or 1
    return CaseProfile(
        suite="local-storage",
        benchmark="local-storage-cache-int-get",
        params={"nr_maps": "16"},
        arm=arm,
        event="cycles" if counters else "cpu-clock",
        functions=tuple(
            ProfiledFunction(
                name=name, object="bpf" if name == "loop" else "kernel", share=count / total, samples=count
            )
            for name, count in samples.items()
        ),
        guest=tuple(
            CounterRecord(event=name.replace("_", "-"), value=value) for name, value in counters.items()
        ),
        host=(),
        problems=problems,
    )


def lines(*cases: CaseProfile, left_out: int = 0) -> list[str]:
    return list(profile_lines(ProfileRecord(cases=cases, left_out=left_out), "base", "head"))


def test_the_largest_change_of_a_share_comes_first() -> None:
    counted = {"cycles": 1000.0, "branches": 200.0, "LLC_loads": 10.0}
    base = profile(
        "base", {"loop": 60, "lookup": 40}, **counted, instructions=2100, branch_misses=1, LLC_load_misses=5
    )
    head = profile(
        "head",
        {"loop": 48, "lookup": 32, "outlined": 20},
        **counted,
        instructions=1900,
        branch_misses=4,
        LLC_load_misses=None,
    )

    assert lines(base, head, left_out=2) == [
        "  local-storage-cache-int-get/nr_maps=16: cycles sampled, 100 and 100 samples",
        "    outlined      0.00 %   20.00 %  +20.00",
        "    loop (bpf)   60.00 %   48.00 %  -12.00",
        "    lookup       40.00 %   32.00 %   -8.00",
        "    guest: instructions per cycle 2.10 -> 1.90; branch misses 0.50 % -> 2.00 %",
        "  2 more cases changed too and were not profiled: choose by --case",
    ]


def test_what_could_not_be_recorded_is_said() -> None:
    base = profile("base", {}, ("no samples: perf is not in the guest",), cycles=None)
    head = profile("head", {"loop": 3}, cycles=None)

    assert lines(base, head) == [
        "  local-storage-cache-int-get/nr_maps=16: cycles sampled, 0 and 3 samples, too few to compare",
        "    loop (bpf)    0.00 %  100.00 %  +100.00",
        "    guest: this machine does not count cycles",
        "    base: no samples: perf is not in the guest",
    ]


def test_an_arm_alone_is_no_comparison() -> None:
    assert lines(profile("base", {"loop": 3})) == []


@pytest.mark.parametrize("form", ["text", "markdown", "html"])
def test_reports_have_it(form: str, tmp_path: Path) -> None:
    """Names are whatever the kernel calls its functions: nothing in them is markup, or obeyed by
    a terminal.
    """
    run = tmp_path / "run"
    shutil.copytree(RUN, run)
    hostile = "<img src=x>"
    record = ProfileRecord(cases=(profile("base", {hostile: 70}), profile("head", {hostile: 60, "loop": 40})))
    (run / "profile.json").write_bytes(document_text(record))

    printed = CliRunner().invoke(main, ["compare", str(run), "--format", form], catch_exceptions=False).output

    assert PROFILE_TITLE in printed
    assert "cpu-clock sampled, since the guest has no counters" in printed
    if form == "html":
        assert hostile not in printed
