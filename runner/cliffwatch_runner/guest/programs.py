"""The programs that a guest runs, and the data that they read."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

GUEST_DATA = Path("/tmp/cliffwatch/data")  # noqa: S108 - in the guest's memory, where agent.sh mounts it read-only
DATA_WORD = "{data}"
"""Placeholder for the path of the data in a case's arguments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnObject:
    """A BPF object of the user's, with what is beside it. Empty names stand for none."""

    name: str
    configurations: tuple[str, ...] = ("",)
    """Recorded configurations; the first is the object as it was built."""

    inputs: tuple[str, ...] = ("",)
    """Inputs of its programs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestData:
    """A file of the user's, as it was when the run began."""

    name: str
    content: bytes
    digest: str
    """SHA-256 of the content, in hex."""

    objects: tuple[OwnObject, ...] = ()
    """Content of an archive of BPF objects; empty for any other file."""

    @property
    def guest_path(self) -> Path:
        return GUEST_DATA / self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestPrograms:
    """Programs and data for a guest."""

    bench: tuple[Path, ...] = ()
    """bench, and the library that is preloaded into programs."""

    of_suites: Mapping[str, Mapping[str, Path]] = field(default_factory=dict)
    """By suite: its programs and the files that they need, by name in the guest."""

    data: GuestData | None = None

    def headers(self, count: int) -> Mapping[bytes, str]:
        """Returns the programs' names in the guest, by the first `count` bytes of their files.

        Raises OSError.
        """
        files = [(path.name, path) for path in self.bench]
        files += [(name, path) for of_suite in self.of_suites.values() for name, path in of_suite.items()]
        headers: dict[bytes, str] = {}
        for name, path in files:
            with path.open("rb") as file:
                headers.setdefault(file.read(count), name.rpartition("/")[2])
        return headers

    def put_into(self, folder: Path) -> None:
        """Copies all into an input folder: bench/, programs/SUITE/, data/."""
        (folder / "bench").mkdir()
        for program in self.bench:
            shutil.copy2(program, folder / "bench" / program.name)
        for suite, files in self.of_suites.items():
            home = folder / "programs" / suite
            home.mkdir(parents=True)
            for name, path in files.items():
                shutil.copy2(path, home / name)
        if self.data is not None:
            (folder / "data").mkdir()
            (folder / "data" / self.data.name).write_bytes(self.data.content)
