"""What is called confirmed."""

from dataclasses import replace

from arms import SEQ_GET, arm
from msgspec import structs
from states import SEQ, compared, row

from cliffwatch.pull_request.state import confirmed_rows
from cliffwatch.samples import Arm

NOISY = row(SEQ, 0.05, "regression", params={"nr_maps": "16"}, metric="latency")
COUNTED = row(SEQ, 0.05, "regression", params={"nr_maps": "16"}, metric="latency", mode="icount")
KEY = (SEQ_GET, "latency")


def booted(name: str, *stages: str) -> Arm:
    made = arm(name, {SEQ_GET: [1.0] * len(stages)}, mode="walltime")
    boots = tuple(replace(boot, stage=stage) for boot, stage in zip(made.boots, stages, strict=True))  # type: ignore[arg-type]
    return replace(made, boots=boots)


def test_a_change_that_both_kernels_boots_measured_again_is_confirmed() -> None:
    again = booted("base", "screen", "confirm"), booted("head", "screen", "confirm")

    assert confirmed_rows(compared(NOISY), *again) == {KEY}


def test_a_change_of_the_screen_alone_is_not() -> None:
    assert (
        confirmed_rows(compared(NOISY), booted("base", "screen", "confirm"), booted("head", "screen"))
        == frozenset()
    )
    assert confirmed_rows(compared(NOISY)) == frozenset()


def test_what_did_not_change_is_not_confirmed() -> None:
    again = booted("base", "confirm"), booted("head", "confirm")

    assert confirmed_rows(compared(structs.replace(NOISY, verdict="unchanged")), *again) == frozenset()


def test_a_counted_change_is_confirmed_by_a_second_boot_of_each_kernel() -> None:
    assert confirmed_rows(compared(COUNTED)) == {KEY}
    assert confirmed_rows(compared(structs.replace(COUNTED, n_head=1))) == frozenset()
