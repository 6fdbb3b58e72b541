"""With `--build-image` the tools are those of the image: the newest whole LLVM in it, whatever
the host has.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from cliffwatch_runner.build.toolchain import Toolchain, ToolChoice, find_toolchain

Image = Callable[..., None]
IN_IMAGE = ToolChoice(cc=None, clang=None, pahole=None, build_image="tools:1")


def program(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


@pytest.fixture
def image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Image:
    """An engine whose one image has the programs of a folder; it is called as docker is, `run --rm --network
    none IMAGE …`.
    """
    inside, engine = tmp_path / "inside", tmp_path / "engine"
    inside.mkdir()
    engine.mkdir()
    program(
        engine,
        "docker",
        f'[ "$5" = tools:1 ] || exit 125\nshift 5\nPATH={inside}:/usr/bin:/bin; export PATH; exec "$@"',
    )
    monkeypatch.setenv("PATH", f"{engine}:/usr/bin:/bin")

    def with_programs(**versions: str) -> None:
        for name, version in versions.items():
            program(inside, name.replace("_", "-"), f'echo "{name} version {version}"')

    with_programs(gcc="14.2.0", ld="2.44", pahole="1.30")
    return with_programs


def llvm(image: Image, suffix: str, version: str) -> None:
    image(**{f"{name}{suffix}": version for name in ("clang", "llc", "llvm_strip")})


def test_the_newest_whole_llvm_of_the_image_is_taken(image: Image) -> None:
    llvm(image, "_92", "92.1.8")
    llvm(image, "_91", "91.1.0")
    image(clang_93="93.0.0")
    found = find_toolchain(IN_IMAGE)

    assert isinstance(found, Toolchain)
    assert [tool.program for tool in found.tools] == [
        "gcc",
        "clang-92",
        "llc-92",
        "llvm-strip-92",
        "pahole",
        "ld",
    ]
    assert (found.clang.version, found.image) == ((92, 1, 8), "tools:1")


def test_what_the_image_lacks_is_said_of_the_image(image: Image) -> None:
    missing = find_toolchain(ToolChoice(cc=None, clang="clang-94", pahole=None, build_image="tools:1"))

    assert isinstance(missing, tuple)
    assert [each.message for each in missing] == [
        f"{name} is missing in the image tools:1" for name in ("clang-94", "llc-94", "llvm-strip-94")
    ]
    assert "images/toolchain" in missing[0].next_step


def test_an_image_that_cannot_be_started_lacks_everything(image: Image) -> None:
    missing = find_toolchain(ToolChoice(cc=None, clang=None, pahole=None, build_image="none:1"))

    assert isinstance(missing, tuple)
    assert len(missing) == 6
