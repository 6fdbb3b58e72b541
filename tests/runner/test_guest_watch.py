"""When a guest is ended: for its own doing, never because its host was busy."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from cliffwatch_runner import clock
from cliffwatch_runner.guest.progress import GuestProgress
from cliffwatch_runner.guest.watch import GuestLimits, GuestWatch

LIMITS = GuestLimits(quiet=60.0, cases={"000-trig-tp": 30.0}, host=12 * 3600.0)


@dataclass
class Scripted:
    """A meter that shows what the test says."""

    guest: float | None = None
    work: float = 0.0
    idle: float = 0.0
    asked: int = 0

    def look(self, _: float) -> GuestProgress:
        return GuestProgress(work=self.work, idle=self.idle)

    def guest_clock(self, _: float) -> float | None:
        self.asked += 1
        return self.guest

    def close(self) -> None: ...


class Guest:
    """A watched guest; time passes as the test says."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr(clock, "monotonic", lambda: self.now)
        self.folder = folder
        self.cases: list[str] = []
        self.meter = Scripted()
        self.watch = GuestWatch(folder, LIMITS, self.cases.append, lambda: False)
        self.watch.begin(self.meter)

    def pass_(
        self, seconds: float, *, guest: float | None = None, work: float = 0.0, idle: float = 0.0
    ) -> str | None:
        """Seconds of the host pass, and of the guest's clock, of work and of idling."""
        self.now += seconds
        if guest is not None:
            self.meter.guest = (self.meter.guest or 0.0) + guest
        self.meter.work += work
        self.meter.idle += idle
        self.watch.should_stop()
        return self.watch.reason

    def begin_case(self, name: str) -> None:
        (self.folder / "current").write_text(f"{name}\n")


@pytest.fixture
def guest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Guest:
    return Guest(tmp_path, monkeypatch)


def test_a_guest_whose_host_does_other_things_for_hours_is_left_running(guest: Guest) -> None:
    guest.pass_(2, guest=1, work=2)

    assert guest.pass_(6 * 3600, guest=10, work=30) is None


def test_a_guest_that_measures_is_never_asked_for_its_clock(guest: Guest) -> None:
    guest.begin_case("000-trig-tp")
    guest.pass_(2, guest=1, work=2)
    guest.pass_(40, guest=12, work=44)

    assert guest.meter.asked == 0


def test_a_guest_that_spins_without_a_sign_of_life_hangs(guest: Guest) -> None:
    guest.pass_(2, guest=1, work=2)
    guest.pass_(50, guest=20, work=40)

    assert guest.pass_(100, guest=59, work=150) is None
    assert guest.pass_(10, guest=3, work=9) == "hang"


def test_a_case_may_take_its_own_time_besides(guest: Guest) -> None:
    guest.begin_case("000-trig-tp")
    guest.pass_(2, guest=1, work=2)
    guest.pass_(50, guest=20, work=46)

    assert guest.cases == ["000-trig-tp"]
    assert guest.pass_(200, guest=89, work=200) is None
    assert guest.pass_(10, guest=3, work=9) == "hang"


def test_a_clock_that_leaps_while_the_guest_waits_for_its_host_is_not_believed(guest: Guest) -> None:
    guest.pass_(2, guest=1, work=2)

    assert guest.pass_(5, guest=86_400, work=1) is None
    assert guest.pass_(40, guest=86_400, work=31) is None
    assert guest.pass_(2, guest=86_400, work=1) == "hang"


def test_a_loop_that_the_emulator_runs_slowly_is_ended_by_its_work(guest: Guest) -> None:
    """A loop of `pause` leaves the emulator's code after each: the guest's clock hardly moves."""
    guest.pass_(2, guest=1, work=2)

    assert guest.pass_(200, guest=1, work=230) is None
    assert guest.pass_(10, guest=0, work=9) == "hang"


def test_a_guest_with_nothing_left_to_wait_for_hangs(guest: Guest) -> None:
    guest.pass_(2, guest=1, work=2)

    assert guest.pass_(59, idle=59) is None
    assert guest.pass_(2, idle=2) == "hang"


def test_a_line_on_the_console_is_a_sign_of_life(guest: Guest) -> None:
    guest.pass_(2, guest=1, work=2)
    guest.pass_(100, guest=59, work=150)
    guest.watch.heard("INFO: task bench blocked for more than 120 seconds")

    assert guest.pass_(100, guest=59, work=150) is None


def test_a_case_that_prints_for_ever_is_ended_all_the_same(guest: Guest) -> None:
    guest.begin_case("000-trig-tp")
    guest.pass_(2, guest=1, work=2)
    for _ in range(10):
        guest.watch.heard("rcu: INFO: rcu_preempt self-detected stall on CPU")
        guest.pass_(100, guest=50, work=180)
    guest.watch.heard("again")

    assert guest.pass_(10, guest=1, work=2) == "hang"


def test_a_host_that_does_not_get_a_guest_run_in_half_a_day_is_at_fault_itself(guest: Guest) -> None:
    guest.pass_(2, guest=1, work=2)

    assert guest.pass_(12 * 3600, guest=1, work=2) == "starved"


def test_a_guest_whose_clock_cannot_be_read_is_judged_by_its_work(guest: Guest) -> None:
    guest.pass_(2, work=2)

    assert guest.pass_(500, work=230) is None
    assert guest.pass_(10, work=15) == "hang"


def test_a_name_that_nobody_planned_is_no_sign_of_life(guest: Guest) -> None:
    """A guest that writes new ones for ever is ended as one that writes none, and no progress
    tells of them.
    """
    guest.pass_(2, guest=1, work=2)
    ended = None
    for number in range(100):
        guest.begin_case(f"made-up-{number}")
        ended = ended or guest.pass_(30, guest=30, work=30)

    assert ended == "hang"
    assert guest.cases == []


def test_a_case_that_begins_again_and_again_counts_once(guest: Guest) -> None:
    guest.pass_(2, guest=1, work=2)
    ended = None
    for number in range(100):
        guest.begin_case("000-trig-tp" if number % 2 else "other")
        ended = ended or guest.pass_(30, guest=30, work=30)

    assert ended == "hang"
    assert guest.cases == ["000-trig-tp"]


def test_a_case_that_is_taken_back_and_named_again_counts_once(guest: Guest) -> None:
    guest.pass_(2, guest=1, work=2)
    ended = None
    for number in range(100):
        guest.begin_case("000-trig-tp") if number % 2 else (guest.folder / "current").unlink(missing_ok=True)
        ended = ended or guest.pass_(30, guest=30, work=30)

    assert ended == "hang"


def test_a_guest_that_sleeps_and_prints_for_ever_is_ended(guest: Guest) -> None:
    guest.begin_case("000-trig-tp")
    guest.pass_(2, guest=1, work=2)
    ended = None
    for _ in range(100):
        guest.watch.heard("still here")
        ended = ended or guest.pass_(30, guest=30, idle=30)

    assert ended == "hang"


def test_half_a_day_that_a_guest_worked_through_is_no_fault_of_its_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of its cases is drawn out to the last."""
    names = [f"case-{number}" for number in range(1000)]
    monkeypatch.setitem(
        globals(), "LIMITS", GuestLimits(quiet=60.0, cases=dict.fromkeys(names, 30.0), host=12 * 3600.0)
    )
    guest = Guest(tmp_path, monkeypatch)
    ended = None
    for name in names:
        guest.begin_case(name)
        ended = ended or guest.pass_(50, guest=50, work=50)

    assert ended == "hang"
