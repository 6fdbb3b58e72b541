"""A host's record tells what kind of machine measured, and stays silent about what the machine
does not show.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from fake_host import ROME, SKYLAKE, fake_host, put

from cliffwatch_runner.host.facts import host_record, platform_name, throttle_counters

GOLDEN = Path(__file__).parents[1] / "data/host/rome-record.json"


def test_the_record_of_a_rome_host(tmp_path: Path) -> None:
    record = host_record(fake_host(tmp_path))

    assert json.dumps(record, indent=2) + "\n" == GOLDEN.read_text()


def test_a_host_that_shows_nothing_has_a_record_of_the_same_shape(tmp_path: Path) -> None:
    nothing: Any = host_record(tmp_path / "empty")
    rome: Any = host_record(fake_host(tmp_path / "rome"))

    assert nothing.keys() == rome.keys()
    assert nothing["cpu"].keys() == rome["cpu"].keys()
    assert nothing["load_average"] is None
    assert platform_name(nothing, "walltime") == "unknown-machine"


def test_cpus_with_different_microcode_are_both_recorded(tmp_path: Path) -> None:
    root = fake_host(tmp_path)
    cpuinfo = (root / "proc/cpuinfo").read_text()
    put(root, "proc/cpuinfo", cpuinfo.replace("0x830107c", "0x8301055", 1))

    assert host_record(root)["cpu"]["microcode"] == ["0x8301055", "0x830107c"]


def test_boost_reads_the_same_from_either_driver(tmp_path: Path) -> None:
    amd = fake_host(tmp_path / "amd")
    intel = fake_host(tmp_path / "intel", SKYLAKE)
    put(intel, "sys/devices/system/cpu/intel_pstate/no_turbo", "1\n")

    assert host_record(amd)["frequency"]["boost"] == "on"
    assert host_record(intel)["frequency"]["boost"] == "off"


@pytest.mark.parametrize(
    ("processor", "name"),
    [
        (ROME, "amd-rome"),
        (SKYLAKE, "intel-skylake"),
        (SKYLAKE | {"model": 94, "stepping": 3}, "intel-skylake"),
        (SKYLAKE | {"model": 78, "stepping": 3}, "intel-skylake"),
        (SKYLAKE | {"stepping": 7}, "intel-family-6-model-85"),
        (ROME | {"family": 25, "model": 1}, "amd-family-25-model-1"),
        (ROME | {"vendor": "HygonGenuine", "family": 24, "model": 0}, "hygongenuine-family-24-model-0"),
    ],
)
def test_walltime_platforms_are_kinds_of_processors(
    tmp_path: Path, processor: dict[str, object], name: str
) -> None:
    assert platform_name(host_record(fake_host(tmp_path, processor)), "walltime") == name


def test_every_emulated_guest_is_one_platform(tmp_path: Path) -> None:
    assert platform_name(host_record(fake_host(tmp_path)), "icount") == "emulated-x86-64"


def test_rehearsals_have_a_platform_of_their_own_on_every_host(tmp_path: Path) -> None:
    assert platform_name(host_record(fake_host(tmp_path)), "walltime", "tcg") == "rehearsal-x86-64"


def test_throttling_is_summed_over_cores_and_counted_once_for_a_package(tmp_path: Path) -> None:
    for cpu, (core, package) in enumerate([(3, 7), (4, 7)]):
        put(tmp_path, f"sys/devices/system/cpu/cpu{cpu}/thermal_throttle/core_throttle_count", f"{core}\n")
        put(
            tmp_path,
            f"sys/devices/system/cpu/cpu{cpu}/thermal_throttle/package_throttle_count",
            f"{package}\n",
        )

    assert throttle_counters(tmp_path) == {"core": 7, "package": 7}


def test_a_processor_that_counts_no_throttling_has_no_numbers_rather_than_zeros(tmp_path: Path) -> None:
    assert throttle_counters(fake_host(tmp_path)) == {"core": None, "package": None}


def test_brackets_are_a_choice_only_where_the_kernel_offers_one(tmp_path: Path) -> None:
    root = fake_host(
        tmp_path, **{"proc/cmdline": "quiet dyndbg=[x] ro\n", "sys/class/dmi/id/product_name": "R7 [rev B]\n"}
    )

    record = host_record(root)

    assert record["kernel"]["command_line"] == "quiet dyndbg=[x] ro"
    assert record["dmi"]["product_name"] == "R7 [rev B]"
    assert record["memory"]["transparent_hugepage"] == "madvise"
