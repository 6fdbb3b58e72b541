"""The house stays one: short modules, few entries in a folder, no circle of imports
(docs/architecture.md).
"""

import re
from graphlib import TopologicalSorter
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("cliffwatch", "runner/cliffwatch_runner", "service/cliffwatch_service")
FOLDERS = [
    folder
    for package in PACKAGES
    for folder in [ROOT / package, *sorted((ROOT / package).rglob("*/"))]
    if folder.is_dir() and "__pycache__" not in folder.parts
]
ONE_PER_KIND = ("kinds",)
MOST_LINES = 330
MOST_ENTRIES = 18


@pytest.mark.parametrize("package", PACKAGES)
def test_modules_are_short(package: str) -> None:
    lines = {
        str(path.relative_to(ROOT)): len(path.read_text().splitlines())
        for path in (ROOT / package).rglob("*.py")
    }

    assert len(lines) > 50
    assert {path: count for path, count in lines.items() if count > MOST_LINES} == {}


def test_a_folder_is_seen_at_a_glance() -> None:
    entries = {
        str(folder.relative_to(ROOT)): len([each for each in folder.iterdir() if each.name != "__pycache__"])
        for folder in FOLDERS
        if folder.name not in ONE_PER_KIND
    }

    assert len(entries) > 30
    assert {folder: count for folder, count in entries.items() if count > MOST_ENTRIES} == {}


def test_imports_run_in_no_circle() -> None:
    graph = grimp.build_graph("cliffwatch", "cliffwatch_runner", "cliffwatch_service")
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}

    assert len(imports) > 300
    TopologicalSorter(imports).prepare()


def test_what_crosses_a_package_has_a_type() -> None:
    """JSON that stays free is called `FreeJson`; its readers of older versions alone look into it without a
    type.
    """
    nameless = re.compile(r"\b(?:Mapping|MutableMapping|dict)\[str, Any\]")
    found = {
        str(path.relative_to(ROOT))
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        if nameless.search(path.read_text())
    }

    assert not {path for path in found if not path.startswith("cliffwatch/formats/")}


def test_of_scipy_only_the_special_functions_are_called() -> None:
    """The service's image has nothing else of it (images/service/Dockerfile)."""
    imported = re.compile(r"^\s*(?:from (scipy\S*) import (.+?)(?:\s+#.*)?|import (scipy\S*))$", re.MULTILINE)
    found = {
        "".join(match)
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        for match in imported.findall(path.read_text())
    }

    assert found == {"scipyspecial"}
