"""A suite whose Go program is built with a small module, and a module proxy in a folder that has two versions
of it.
"""

import json
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from cliffwatch.catalogue import folder as catalogue_folder
from cliffwatch.catalogue import load

MODULE = "example.org/steps"
needs_go = pytest.mark.skipif(shutil.which("go") is None, reason="there is no Go here: make test-programs")


def write_module(folder: Path, steps: int) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "go.mod").write_text(f"module {MODULE}\n\ngo 1.20\n")
    (folder / "steps.go").write_text(f"package steps\n\nfunc Count() int {{ return {steps} }}\n")
    return folder


def publish(proxy: Path, version: str, module: Path) -> None:
    """Puts a module into a folder that go reads as a module proxy."""
    home = proxy / MODULE / "@v"
    home.mkdir(parents=True, exist_ok=True)
    (home / f"{version}.info").write_text(json.dumps({"Version": version, "Time": "2025-06-01T00:00:00Z"}))
    (home / f"{version}.mod").write_text((module / "go.mod").read_text())
    with zipfile.ZipFile(home / f"{version}.zip", "w") as archive:
        for file in sorted(module.iterdir()):
            archive.write(file, f"{MODULE}@{version}/{file.name}")


def proxy_environment(folder: Path) -> dict[str, str]:
    """The proxy with both versions, and where go keeps what it took from there."""
    for version, steps in (("v1.0.0", 1000), ("v1.1.0", 800)):
        publish(folder / "proxy", version, write_module(folder / "modules" / version, steps))
    return {
        "GOPROXY": f"file://{folder / 'proxy'}",
        "GONOSUMDB": "*",
        "GOMODCACHE": str(folder / "modcache"),
        "GOCACHE": str(folder / "gocache"),
    }


def write_suite(home: Path, values: str, metrics: str) -> Path:
    """The suite's folder; its program prints `values`, in which %d is the module's count, and suite.toml has
    `metrics`. The environment has the proxy already.
    """
    home.mkdir(parents=True)
    (home / "go.mod").write_text(f"module example.org/stepping\n\ngo 1.20\n\nrequire {MODULE} v1.0.0\n")
    # Without fmt, which takes Go as long to compile as all the rest.
    printed = f"BenchmarkSteps 1 {values}\\n".replace("%[1]d", "%d").replace(
        "%d", '" + strconv.Itoa(steps.Count()) + "'
    )
    (home / "main.go").write_text(
        f'package main\n\nimport (\n\t"strconv"\n\t"syscall"\n\n\t"{MODULE}"\n)\n\n'
        f'func main() {{ _, _ = syscall.Write(1, []byte("{printed}")) }}\n'
    )
    if shutil.which("go") is not None:
        subprocess.run(["go", "mod", "tidy"], cwd=home, check=True, capture_output=True)
    (home / "suite.toml").write_text(
        'title = "Steps"\n[program]\nbuild = "go build -o stepping ."\nrun = "stepping"\noutput ='
        f' "go-bench"\n[metrics]\n{metrics}\n[[benchmark]]\nname = "Steps"\nicount = {{ assume = "exact",'
        " repeatability = 0.001 }\n"
    )
    return home


def be_the_catalogue(folder: Path) -> None:
    """Makes the suites of a folder those that came with this Cliffwatch; once more with the real folder to
    undo it.
    """
    for module in (catalogue_folder, load):
        module.suites_folder = lambda: folder  # type: ignore[attr-defined]
    load.load_catalogue.cache_clear()
    catalogue_folder._quoted_texts.cache_clear()
