"""When rows may be compared at all: how often a case may fail, and what must be equal of two environments."""

import pytest
from arms import SEQ_GET, arm
from made_documents import made_arm, made_record

from cliffwatch.comparing.environments.differences import case_traits
from cliffwatch.comparing.validity import too_many_failed
from cliffwatch.formats.result_directory import comparable_environment
from cliffwatch.formats.run_record import BenchRecord
from cliffwatch.samples import Arm, Boot, CaseKey, CaseOutcome, MetricTraits

HOST = {"cpu": {"model_name": "AMD EPYC 7502", "microcode": ["0x8301055", "0x830107c"]}}


def failing(failed: int, boots: int) -> Arm:
    made = arm("base", {})
    statuses = ["failed"] * failed + ["ok"] * (boots - failed)
    return Arm(
        name=made.name,
        label=made.label,
        mode=made.mode,
        platform=made.platform,
        boots=tuple(
            Boot(index=index, block=index, samples=(), outcomes=(CaseOutcome(case=SEQ_GET, status=status),))
            for index, status in enumerate(statuses, start=1)
        ),
    )


def test_a_case_may_fail_in_one_boot_of_five_and_in_no_more() -> None:
    steady = arm("head", {})

    assert too_many_failed(failing(1, 5), steady) == {}
    assert too_many_failed(failing(2, 9), steady) == {SEQ_GET: "base failed in 2 of 9 boots"}
    assert too_many_failed(steady, failing(1, 4)) == {SEQ_GET: "head failed in 1 of 4 boots"}


@pytest.mark.parametrize(
    ("cpus", "known", "used"),
    [(1, 0.0001, 0.0001), (4, 0.0001, 0.001), (4, 0.005, 0.005)],
)
def test_several_cpus_repeat_no_better_than_a_thousandth(cpus: int, known: float, used: float) -> None:
    def catalogue(*_: object) -> MetricTraits:
        return MetricTraits(better="higher", assume="exact", repeatability=known, primary=False)

    assert case_traits(catalogue, cpus, SEQ_GET, "latency", "ns/op", "icount") == MetricTraits(
        better="higher", assume="exact", repeatability=used, primary=False
    )


def test_noisy_values_keep_their_traits_on_several_cpus() -> None:
    noisy = MetricTraits(better="lower", assume="nothing")

    assert case_traits(lambda *_: noisy, 4, SEQ_GET, "latency", "ns/op", "walltime") is noisy


@pytest.mark.parametrize("cpus", ["²", "9" * 5000, "-1", "many"])
def test_a_case_whose_number_of_cpus_is_no_number_is_taken_as_one_of_the_run(cpus: str) -> None:
    case = CaseKey(suite="own", benchmark="get", params=(("guest-cpus", cpus),))
    exact = MetricTraits(better="lower", assume="exact", repeatability=0.001)

    assert case_traits(lambda *_: exact, 1, case, "latency", "ns/op", "icount") is exact


def test_processor_and_microcode_must_be_equal_where_they_are_not_emulated() -> None:
    walltime = comparable_environment(made_record(mode="walltime", host=HOST), None)

    assert walltime == {"processor": "AMD EPYC 7502", "microcode": "0x8301055/0x830107c"}
    assert comparable_environment(made_record(mode="icount", host=HOST), None) == {}


def test_bios_and_kernel_of_the_host_must_be_equal_where_they_have_an_effect() -> None:
    host = {"dmi": {"bios_version": "2.8"}, "kernel": {"release": "6.12.48", "version": "#1 SMP"}}
    walltime = comparable_environment(made_record(mode="walltime", host=host), None)

    assert walltime == {"bios": "2.8", "host-kernel": "6.12.48 #1 SMP"}
    assert comparable_environment(made_record(mode="icount", host=host), None) == {}


def test_what_a_host_does_not_record_of_its_processor_is_not_compared() -> None:
    assert comparable_environment(made_record(mode="walltime", host={"cpu": {"microcode": []}}), None) == {}


def test_config_compiler_bench_and_guest_must_be_equal_in_both_modes() -> None:
    record = made_record(
        mode="icount",
        toolchain={"gcc": "gcc 14.2.0", "clang": "clang 19"},
        bench=BenchRecord(source_digest="b" * 32),
        guest={"memory": 1, "cpus": 2},
    )

    assert comparable_environment(record, made_arm(config="c" * 64)) == {
        "config": "c" * 64,
        "compiler": "gcc 14.2.0",
        "bench": "b" * 32,
        "guest": '{"cpus": 2, "memory": 1}',
    }
    other = made_record(mode="icount", toolchain={"clang": "clang 19"})
    assert comparable_environment(other, made_arm()) == {"compiler": "clang 19"}
