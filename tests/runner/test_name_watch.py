"""What is collected of a guest's memory while it runs, case by case."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from cliffwatch_runner.guest.counting import name_watch
from cliffwatch_runner.guest.counting.bpf_names import BpfCode
from cliffwatch_runner.guest.counting.monitor import Monitor
from cliffwatch_runner.guest.counting.name_watch import (
    BEFORE,
    NameSources,
    NameWatch,
    read_bpf_code,
    read_user_objects,
)
from cliffwatch_runner.guest.counting.user_objects import MappedObject

BENCH, LIBC = MappedObject(0x1000, 0x2000, "bench"), MappedObject(0x7000, 0x9000, "libc.so.6")


class Guest:
    """Answers look by look, and closes the watch at the last one."""

    def __init__(self, folder: Path, looks: Sequence[Callable[[], Sequence[Any]]]) -> None:
        self._looks = list(looks)
        self._folder = folder
        self.watch: NameWatch | None = None

    def now(self) -> Sequence[Any]:
        look = self._looks.pop(0)
        if not self._looks:
            assert self.watch is not None
            self.watch._closing.set()  # as its close() does, which waits for this thread
        return look()


class Nothing:
    def now(self) -> tuple[BpfCode, ...]:
        return ()

    def programs(self, _: object) -> dict[BpfCode, bytes]:
        return {}


def collected(folder: Path, monkeypatch: pytest.MonkeyPatch, *looks: Callable[[], Sequence[Any]]) -> Path:
    monkeypatch.setattr(name_watch, "_EVERY_SECONDS", 0.001)
    guest: Any = Guest(folder, looks)
    nothing: Any = Nothing()
    guest.watch = NameWatch(NameSources(Monitor(folder), nothing, guest), folder)
    guest.watch.begin()
    guest.watch._thread.join()  # the last look ends it
    guest.watch.close()
    guest.watch.write(folder)
    return folder


def case(folder: Path, name: str) -> None:
    (folder / "current").write_text(name + "\n")


def test_what_was_seen_most_often_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case(tmp_path, "000-lookup")

    collected(tmp_path, monkeypatch, lambda: [LIBC], lambda: [BENCH], lambda: [BENCH])

    assert read_user_objects(tmp_path) == {"000-lookup": (BENCH, LIBC)}
    assert read_bpf_code(tmp_path) == {"000-lookup": ()}


def test_processes_that_prepare_a_guest_are_looked_into_before_its_first_case(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def first_case() -> Sequence[MappedObject]:
        case(tmp_path, "000-lookup")
        return [LIBC]

    collected(tmp_path, monkeypatch, first_case, lambda: [BENCH])

    assert read_user_objects(tmp_path) == {BEFORE: (LIBC,), "000-lookup": (BENCH,)}


def test_a_look_that_outlasts_its_case_is_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case(tmp_path, "000-lookup")

    def outlasting() -> Sequence[MappedObject]:
        case(tmp_path, "001-update")
        return [LIBC]

    collected(tmp_path, monkeypatch, lambda: [BENCH], outlasting)

    assert read_user_objects(tmp_path) == {"000-lookup": (BENCH,)}


def test_memory_that_grows_takes_no_room_of_other_cases(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(name_watch, "_MOST_OF_CASE", 3)
    case(tmp_path, "000-grows")
    grown = [MappedObject(0x10000, 0x10000 + size, "anonymous memory") for size in range(1, 6)]

    def next_case() -> Sequence[MappedObject]:
        case(tmp_path, "001-update")
        return []

    looks = [*((lambda each=each: [BENCH, each]) for each in grown), next_case, lambda: [LIBC]]
    collected(tmp_path, monkeypatch, *looks)

    objects = read_user_objects(tmp_path)
    assert objects["000-grows"][0] == BENCH, "what is known goes on to be counted"
    assert len(objects["000-grows"]) == 3
    assert objects["001-update"] == (LIBC,)


@pytest.mark.parametrize("content", ["", "x", '{"case": [[1, 2'])
def test_what_cannot_be_read_is_not_known(tmp_path: Path, content: str) -> None:
    (tmp_path / "user-objects").write_text(content)

    assert read_user_objects(tmp_path) == {}
