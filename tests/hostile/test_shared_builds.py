"""What a tree's Makefiles made is nobody else's: names of builds hold all that ran, and what strangers build
is found by no other run.
"""

from pathlib import Path

import pytest
import toy
from toy import RecordedProgress, change, request, run_toy

from cliffwatch.formats.result_directory import Run
from cliffwatch_runner.run import build, measure
from cliffwatch_runner.source.access import Trust

pytestmark = [pytest.mark.timeout(120), pytest.mark.namespaces]

PLANTED = bytes.fromhex("dead" * 10)
PLANT = f"\tcc -o $(O)/bench/bench tools/testing/selftests/bpf/bench.c -Wl,--build-id=0x{PLANTED.hex()}\n"
"""Make takes it for a bench that is up to date."""


@pytest.fixture(autouse=True)
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "guest_programs", lambda: (toy.FAKEVNG,))
    monkeypatch.setattr(build, "_NEEDED_BYTES", 0)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return toy.toy_repository(tmp_path)


def measured(repository: Path, folder: Path, trust: Trust, head: str, out: str) -> tuple[Run, list[str]]:
    progress = RecordedProgress()
    run = run_toy(request(repository, folder, trust=trust, head=head, out=folder / out), progress)
    assert isinstance(run, Run), run
    return run, progress.lines


@pytest.mark.parametrize("trust", ["local", "followed", "outside"])
@pytest.mark.parametrize("file", ["Makefile", "arch/x86/Makefile", "Documentation/Makefile"])
def test_no_tree_supplies_the_bench_of_another(
    repository: Path, tmp_path: Path, trust: Trust, file: str
) -> None:
    """Both have the same benchmarks, and the one's top Makefile, or what it includes from anywhere, makes
    another bench of them.
    """
    makefile = (repository / "Makefile").read_text()
    clean = change(repository, "note", "1\n", "A note")
    if file == "Makefile":
        planted = change(
            repository, "Makefile", makefile.replace("headers: ;", f"headers:\n{PLANT}"), "Plant a bench"
        )
    else:
        (repository / file).parent.mkdir(parents=True)
        changed = makefile.replace("headers: ;", f"include {file}")
        change(repository, file, "headers: ;\n", "Let headers be elsewhere")
        clean = change(repository, "Makefile", changed, "Include it")
        planted = change(repository, file, f"headers:\n{PLANT}", "Plant a bench")
    one, _ = measured(repository, tmp_path, trust, planted, "one")
    other, lines = measured(repository, tmp_path, trust, clean, "other")

    assert one.record.bench is not None
    assert other.record.bench is not None
    assert one.record.bench.source_digest == other.record.bench.source_digest
    assert one.record.bench.digest != other.record.bench.digest
    assert any(line.startswith("of head built") for line in lines)
    entries = {path.name: (path / "bench").read_bytes() for path in (tmp_path / "cache").glob("benches/*")}
    if trust == "outside":
        assert entries == {}
    else:
        assert PLANTED in entries[one.record.bench.digest]
        if not file.startswith(
            "Documentation"
        ):  # trees of one trust share what is not known to steer the build
            assert PLANTED not in entries[other.record.bench.digest]


def test_what_strangers_build_is_found_by_no_other_run(repository: Path, tmp_path: Path) -> None:
    """The same tree once more is built once more."""
    head = change(
        repository, "behaviour", (repository / "behaviour").read_text() + "\n", "Change what it does"
    )
    for out in ("one", "other"):
        _, lines = measured(repository, tmp_path, "outside", head, out)

        assert not [line for line in lines if line.endswith("cached") or " cached, " in line]
        assert len([line for line in lines if line.endswith(" built")]) == 2
    left = {path.name for path in (tmp_path / "cache").iterdir() if path.is_dir() and any(path.iterdir())}
    assert left <= {"mirror.git", "plugins", "locks"}, "plugins are of our own source"
