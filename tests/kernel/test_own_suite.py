"""A suite of the user's own on a real kernel: built in the sandbox, booted, and judged by each metric that it declares."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from isolation_here import ISOLATION, leave_out_root

pytestmark = [pytest.mark.kernel, pytest.mark.timeout(3600)]

ROOT = Path(__file__).parents[2]
CLIFFWATCH = Path(sys.executable).parent / "cliffwatch"


def test_lookups_through_bpf_repeat_and_half_of_them_miss(tmp_path: Path) -> None:
    found = sorted(Path("/usr/src").glob("linux-source-*.tar.*"))
    assert found, "there is no kernel source under /usr/src: tools/install-packages.sh source"
    leave_out_root()
    argv = [str(CLIFFWATCH), "run", "--tree", str(found[-1]), "--base", "HEAD", "--head", "HEAD", "--mode", "icount"]
    argv += ["--isolation", ISOLATION]
    argv += ["--suite", str(ROOT / "examples" / "my-suite"), "--out", str(tmp_path / "results"), "--format", "json"]
    ended = subprocess.run(argv, check=False, stdout=subprocess.PIPE, text=True)

    assert ended.returncode == 0, ended.stdout
    rows = json.loads(ended.stdout)["comparisons"]
    assert {(row["params"]["entries"], row["metric"], row["verdict"]) for row in rows} == {
        (entries, metric, "unchanged") for entries in ("100", "10000") for metric in ("ns/op", "misses/op")
    }
    assert {row["head"] for row in rows if row["metric"] == "misses/op"} == {0.5}
    assert json.loads((tmp_path / "results" / "run.json").read_text())["bench"] is None
