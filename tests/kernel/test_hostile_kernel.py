"""A real kernel whose build tries to get out: it stays in, and the run says what was wrong with it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.kernel, pytest.mark.namespaces, pytest.mark.timeout(3600)]

PATCH = Path(__file__).parents[1] / "data/hostile-build.patch"
CLIFFWATCH = Path(sys.executable).parent / "cliffwatch"


@pytest.fixture
def source() -> Path:
    found = sorted(Path("/usr/src").glob("linux-source-*.tar.*"))
    assert found, "there is no kernel source under /usr/src: tools/install-packages.sh source"
    return found[-1]


def test_a_kernel_whose_build_tries_to_get_out_is_no_kernel_and_hurts_nothing(
    source: Path, tmp_path: Path
) -> None:
    argv = [
        str(CLIFFWATCH),
        "run",
        "--tree",
        str(source),
        "--base",
        "HEAD",
        "--head",
        "HEAD",
        "--patch",
        str(PATCH),
    ]
    argv += ["--mode", "icount", "--boots", "1", "--suite", "bloom", "--out", str(tmp_path / "results")]
    core_pattern = Path("/proc/sys/kernel/core_pattern").read_text()

    ended = subprocess.run(argv, check=False, capture_output=True, text=True)

    assert ended.returncode == 3, ended.stdout + ended.stderr
    record = json.loads((tmp_path / "results" / "run.json").read_text())
    base, head = record["arms"]
    assert base["failure"] is None
    failure = head["failure"]
    assert "System.map in its output is a link" in failure["message"], failure
    assert Path("/proc/sys/kernel/core_pattern").read_text() == core_pattern
    said = [line.removeprefix("hostile: ") for line in _log().splitlines() if line.startswith("hostile: ")]
    assert "all was tried" in said
    got = [line for line in said if line.isupper() or line.startswith("WROTE")]
    assert got == [], "\n".join(got)


def _log() -> str:
    """The log of the failed build: worktrees are used again at once."""
    logs = (
        path.read_text(errors="replace")
        for path in (Path.home() / ".cache/cliffwatch/failures").glob("*.log")
    )
    return next(log for log in logs if "hostile: all was tried" in log)
