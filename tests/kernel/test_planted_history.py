"""Four commits on a real kernel, one of which is planted: a bisection that knows nothing of it names it.

One of the long tests: three kernels are built and booted, for more than the three minutes that CI has for it.
"""

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from isolation_here import leave_out_root

pytestmark = [pytest.mark.kernel, pytest.mark.long, pytest.mark.timeout(3600)]

ROOT = Path(__file__).parents[2]


def test_the_planted_commit_of_four_is_named(tmp_path: Path) -> None:
    leave_out_root()
    found = sorted(Path("/usr/src").glob("linux-source-*.tar.*"))
    assert found, "there is no kernel source under /usr/src: tools/install-packages.sh source"
    seed = int(os.environ.get("PLANTED_SEED") or random.SystemRandom().randrange(10**6))
    argv = [
        sys.executable,
        str(ROOT / "tools/planted_history"),
        str(found[-1]),
        "--seed",
        str(seed),
        "--small",
    ]
    ended = subprocess.run(
        [*argv, "--bisect", "--out", str(tmp_path / "planted")], check=False, capture_output=True, text=True
    )

    assert ended.returncode == 0, f"PLANTED_SEED={seed}\n{ended.stdout}\n{ended.stderr[-4000:]}"
    assert "right: 1 culprits, 1 planted" in ended.stdout
