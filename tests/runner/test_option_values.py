"""Values of options that are no numbers, times or CPUs: refused with what to give instead."""

import pytest
from click.testing import CliRunner

from cliffwatch.command.main import main


def refusal(*words: str) -> str:
    """What `cliffwatch run` says, on one line."""
    ended = CliRunner().invoke(main, ["run", *words], catch_exceptions=False)
    assert ended.exit_code == 2, ended.output
    return " ".join(ended.output.replace("│", " ").split())


@pytest.mark.parametrize("boots", ["²", "٣", "0", "1000", "9" * 5000, "1.5", "many", ""])
def test_what_is_no_number_of_boots_is_refused(boots: str) -> None:
    assert "give auto, staged, careful or a number from 1 to 999" in refusal("--boots", boots)


@pytest.mark.parametrize("time", ["0m", "0.5s", "169h", "99999h", "٣m", "²h", "1e3s", "20", "9" * 5000 + "s"])
def test_what_is_no_time_is_refused(time: str) -> None:
    assert "give one such as 20m, 1.5h or 90s, at most 168h" in refusal("--mode", "walltime", "--time", time)


@pytest.mark.parametrize("pin", ["-1", "²", "1,", "two", "1.5", "9" * 5000])
def test_what_is_no_list_of_cpus_is_refused(pin: str) -> None:
    assert "give CPU numbers separated by commas, such as 2,3" in refusal(f"--pin={pin}")


def test_no_guest_has_more_cpus_than_qemu_gives() -> None:
    assert "256 is not in the range 1<=x<=255" in refusal("--cpus", "256")
