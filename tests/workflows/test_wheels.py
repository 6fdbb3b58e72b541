"""The wheels hold all that the code reads, and work where no checkout is. `make wheels-test` does the same
with pip's help, in an empty environment; here the pinned libraries of this one serve.
"""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PARTS = {"cliffwatch": ROOT, "cliffwatch_runner": ROOT / "runner", "cliffwatch_service": ROOT / "service"}


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("wheels")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    for part in PARTS.values():
        subprocess.run(build, cwd=part, check=True, capture_output=True, env=without_checkout())
    return {path.name.split("-")[0]: path for path in folder.glob("*.whl")}


@pytest.fixture(scope="module")
def installed(wheels: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("installed")
    for wheel in wheels.values():
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)
    return folder


def without_checkout(**more: str) -> dict[str, str]:
    return {**{name: value for name, value in os.environ.items() if name != "PYTHONPATH"}, **more}


def cliffwatch(installed: Path, *words: str) -> str:
    """What is unpacked comes before what this environment has of a checkout."""
    argv = [sys.executable, "-m", "cliffwatch.command", *words]
    env = without_checkout(PYTHONPATH=str(installed), COLUMNS="200")
    return subprocess.run(argv, cwd=installed, env=env, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("package", list(PARTS))
def test_everything_beside_the_code_is_in_the_wheel(wheels: dict[str, Path], package: str) -> None:
    folder = PARTS[package] / package
    wanted = {
        str(path.relative_to(folder.parent))
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }

    there = set(zipfile.ZipFile(wheels[package]).namelist())

    assert len(wanted) > 30
    assert wanted - there == set()


def test_suites_and_migrations_are_in_the_wheels(wheels: dict[str, Path]) -> None:
    library, service = (
        set(zipfile.ZipFile(wheels[name]).namelist()) for name in ("cliffwatch", "cliffwatch_service")
    )
    suites = {
        f"cliffwatch/catalogue/{path.relative_to(ROOT)}"
        for path in ROOT.glob("suites/**/*")
        if path.is_file()
    }
    steps = {
        f"cliffwatch_service/migrations/versions/{path.name}"
        for path in ROOT.glob("db/migrations/versions/*.py")
    }

    assert suites
    assert steps
    assert suites <= library
    assert steps <= service


def test_the_command_of_the_wheels_works_without_a_checkout(installed: Path) -> None:
    where = (
        "import cliffwatch, cliffwatch_runner, cliffwatch_service as s; print(cliffwatch.__file__,"
        " cliffwatch_runner.__file__, s.__file__)"
    )
    env = without_checkout(PYTHONPATH=str(installed))
    said = subprocess.run(
        [sys.executable, "-c", where], cwd=installed, env=env, check=True, capture_output=True, text=True
    )
    assert all(Path(word).is_relative_to(installed) for word in said.stdout.split())

    assert cliffwatch(installed, "--version").startswith("cliffwatch, version ")
    assert "local-storage" in cliffwatch(installed, "suites")
    (installed / "token").write_text("cw_0123456789\n")
    (installed / "token").chmod(0o600)
    install = [
        "host",
        "install",
        "--url",
        "https://bench.example.org",
        "--platform",
        "amd-rome",
        "--mode",
        "icount",
    ]
    install += ["--name", "rome-1", "--token-file", "token", "--program", "/opt/cliffwatch/bin/cliffwatch"]
    assert "ProtectSystem=strict" in cliffwatch(installed, *install, "--root", ".", "--dry-run")
    assert "--port" in cliffwatch(installed, "serve", "--help")


@pytest.mark.parametrize("package", list(PARTS))
def test_the_licence_is_in_the_wheel(wheels: dict[str, Path], package: str) -> None:
    assert any(name.endswith("/LICENSE") for name in zipfile.ZipFile(wheels[package]).namelist())
