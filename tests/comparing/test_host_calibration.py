"""A calibration says how much equal kernels differ on a host, and what that allows to see."""

import math
from dataclasses import replace

import msgspec
import pytest
from arms import SEQ_GET
from equal_kernels import HOST, around, of_kernel, run_of

from cliffwatch.comparing.environments.calibration import calibrate, calibration_lines
from cliffwatch.failure import Failure
from cliffwatch.formats.calibration import CalibrationDocument
from cliffwatch.formats.reading import as_json, convert
from cliffwatch.samples import Arm, Boot


def calibrated(*arms: Arm, asked: tuple[str, ...] = ("local-storage",)) -> CalibrationDocument:
    document = calibrate([run_of(*arms)], asked)
    assert not isinstance(document, Failure), str(document)
    return document


def test_the_spread_is_that_between_boots_and_more_of_it_needs_more_boots() -> None:
    quiet = calibrated(*(of_kernel(name, around(100, 0.001, 12)) for name in ("base", "head", "control")))
    noisy = calibrated(*(of_kernel(name, around(100, 0.02, 12)) for name in ("base", "head", "control")))
    (one,), (other,) = quiet.rows, noisy.rows

    # 36 logs at ±s have the standard deviation s √(36/35).
    assert one.spread == pytest.approx(0.001 * math.sqrt(36 / 35))
    assert other.spread == pytest.approx(0.02 * math.sqrt(36 / 35))
    assert one.boots == 36
    assert one.difference == pytest.approx(0.0)
    assert (one.detectable or 0) < 0.01 < (other.detectable or 0)
    assert (one.suggested_boots or 0) <= 12 < (other.suggested_boots or 0)
    assert one.layout_floor is None
    assert quiet.passed
    assert quiet.machine == {"processor": "AMD EPYC 7502", "microcode": "0x830107c", "host-kernel": "6.12.48"}
    assert convert(as_json(quiet), CalibrationDocument) == quiet


def in_layouts(arm: Arm, luck: tuple[float, ...]) -> Arm:
    """The arm with boots that take so many layouts in turn, each of which moves every value by its luck."""

    def placed(number: int, boot: Boot) -> Boot:
        layout = number % len(luck)
        samples = (each._replace(value=each.value * math.exp(luck[layout])) for each in boot.samples)
        return replace(boot, layout=f"{arm.name}-{layout}", samples=tuple(samples))

    return replace(arm, boots=tuple(placed(number, boot) for number, boot in enumerate(arm.boots)))


def test_layouts_that_were_booted_twice_give_the_floor_of_placement() -> None:
    arms = [of_kernel(name, around(100, 0.001, 12)) for name in ("base", "head", "control")]
    moved = calibrated(*(in_layouts(arm, (-0.02, 0.02, -0.02, 0.02)) for arm in arms))
    still = calibrated(*(in_layouts(arm, (0.0, 0.0, 0.0, 0.0)) for arm in arms))

    assert moved.rows[0].layout_floor == pytest.approx(0.02, rel=0.1)
    assert still.rows[0].layout_floor == pytest.approx(0.0, abs=0.002)
    assert any(line.endswith("2.19 %") for line in calibration_lines(moved))


def test_a_host_sees_what_its_layouts_let_it_see_however_often_they_are_booted() -> None:
    luck = (-0.03, 0.01, 0.0, 0.03, -0.02, -0.01, 0.01, 0.01)
    few, many = (
        calibrated(
            *(in_layouts(of_kernel(name, around(100, 0.001, boots)), luck) for name in ("base", "head"))
        )
        for boots in (16, 64)
    )

    assert (few.rows[0].detectable or 0) == pytest.approx(many.rows[0].detectable, rel=0.1)
    assert (many.rows[0].detectable or 0) > 0.03
    assert many.rows[0].suggested_boots is None
    assert any("over 100" in line for line in calibration_lines(many))


def test_an_arm_that_differs_from_its_equal_fails_it() -> None:
    base, head = (of_kernel(name, around(100, 0.001, 12)) for name in ("base", "head"))
    document = calibrated(base, head, of_kernel("control", around(103, 0.001, 12)))

    assert not document.passed
    (change,) = document.false_changes
    assert change.startswith(f"{SEQ_GET} hits-latency: +3.00% between base and control")
    assert document.rows[0].difference == pytest.approx(0.03, abs=1e-3)


def two_suites(**of_second: object) -> CalibrationDocument | Failure:
    """A calibration of two suites, the second of which was measured a day later."""
    arms = [of_kernel(name, around(100, 0.001, 12)) for name in ("base", "head")]
    first, second = (run_of(*arms, suite=suite) for suite in ("local-storage", "ringbufs"))
    later = msgspec.structs.replace(second.record, created="2026-11-22T10:00:00+00:00", **of_second)
    return calibrate([first, replace(second, record=later)], ("local-storage", "ringbufs"))


def test_a_calibration_is_as_old_as_the_oldest_of_its_runs() -> None:
    document = two_suites()
    assert isinstance(document, CalibrationDocument)
    assert document.created == "2026-11-21T10:00:00+00:00"


def test_runs_of_a_host_that_changed_between_them_make_no_calibration() -> None:
    cpu = {"model_name": "AMD EPYC 7502", "microcode": ["0x830107d"]}
    refused = two_suites(host={**HOST, "cpu": cpu})
    assert isinstance(refused, Failure)
    assert str(refused).startswith("microcode of this host changed between these runs")
    assert "--out" in refused.next_step


def test_a_suite_that_was_not_measured_is_named_and_fails_it() -> None:
    arms = [of_kernel(name, around(100, 0.001, 12)) for name in ("base", "head")]
    document = calibrated(*arms, asked=("local-storage", "ringbufs"))

    assert document.missing == ("ringbufs",)
    assert not document.passed
    assert "not passed: not measured yet: ringbufs; the same command goes on" in list(
        calibration_lines(document)
    )


def test_boots_that_could_see_nothing_pass_nothing() -> None:
    """Two boots each of a rehearsal on a busy machine: equal kernels 51 % apart, and no verdict."""
    arms = [of_kernel("base", [2300.0, 2250.0]), of_kernel("head", [1500.0, 1750.0])]
    document = calibrated(*arms)

    assert document.false_changes == ()
    assert not document.passed
    assert document.shortfalls() == [
        (
            "in 1 of 1 row these boots could not have shown a change of 5 %: repeat it with more --boots and"
            " another --out"
        )
    ]
    noisy = calibrated(*(of_kernel(name, around(100, 0.2, 12)) for name in ("base", "head")))
    assert not noisy.passed


def test_the_table_is_aligned_and_says_that_layouts_were_not_measured() -> None:
    arms = [of_kernel(name, around(100, 0.001, 12)) for name in ("base", "head")]
    heading, row, *_ = calibration_lines(calibrated(*arms))

    assert heading.index("boots") + len("boots") == row.index(" 24") + 3
    assert heading.endswith("layout floor")
    assert row.endswith("not measured")
    assert len(heading) == len(row)


def test_kernels_that_are_not_equal_are_refused() -> None:
    base, head = of_kernel("base", [100.0] * 4), of_kernel("head", [100.0] * 4, kernel="c" * 32)
    assert isinstance(calibrate([run_of(base, head)], ()), Failure)
    assert isinstance(calibrate([], ()), Failure)


def test_too_few_boots_have_no_spread() -> None:
    (row,) = calibrated(of_kernel("base", [0.0]), of_kernel("head", [0.0])).rows
    assert (row.spread, row.detectable, row.suggested_boots) == (None, None, None)


def test_a_rehearsal_says_so_first() -> None:
    arms = [of_kernel(name, around(100, 0.001, 12)) for name in ("base", "head")]
    document = calibrate([run_of(*arms, platform="rehearsal-x86-64")], ())
    assert not isinstance(document, Failure)
    assert next(iter(calibration_lines(document))).startswith("A rehearsal:")
