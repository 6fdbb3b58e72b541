"""Programs that run alike have one digest, whatever their debug information says."""

import subprocess
from pathlib import Path

import pytest

from cliffwatch_runner.build.programs.loaded import loaded_digest

SOURCE = "static int table[] = {1, 2, %s};\nint main(int n, char **v) { return table[n %% 3]; }\n"


def built(folder: Path, source: str, *options: str) -> bytes:
    folder.mkdir()
    (folder / "program.c").write_text(source)
    subprocess.run(["gcc", "-g", "-O2", *options, "program.c", "-o", "program"], cwd=folder, check=True)
    return (folder / "program").read_bytes()


def test_folders_and_build_ids_do_not_count(tmp_path: Path) -> None:
    here = built(tmp_path / "here", SOURCE % 3)
    there = built(tmp_path / "a-longer-name", SOURCE % 3, "-Wl,--build-id=0x" + 20 * "ab")

    assert here != there
    assert loaded_digest(here) == loaded_digest(there)


def test_code_and_data_count(tmp_path: Path) -> None:
    one = loaded_digest(built(tmp_path / "one", SOURCE % 3))

    assert loaded_digest(built(tmp_path / "data", SOURCE % 4)) != one
    assert loaded_digest(built(tmp_path / "code", (SOURCE % 3).replace("n %", "7 * n %"))) != one


@pytest.mark.parametrize("cut", [0, 3, 40, 64, -1, -64, -2000])
def test_what_is_no_whole_program_has_the_digest_of_its_bytes(tmp_path: Path, cut: int) -> None:
    program = built(tmp_path / "one", SOURCE % 3)

    assert loaded_digest(program[:cut]) != loaded_digest(program)
    assert loaded_digest(program[:cut] + b"x") != loaded_digest(program[:cut])
