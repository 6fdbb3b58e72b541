"""The isolation that tests run in: what ISOLATION names (`make test ISOLATION=none` on a machine that forbids
namespaces), else the best one.
"""

import os
from typing import Literal, cast

import pytest

ISOLATION = cast(Literal["auto", "bubblewrap", "container", "none"], os.environ.get("ISOLATION") or "auto")

FORBIDDEN = "this machine forbids namespaces (ISOLATION=none): no build of a tree is isolated here"
"""Why tests that are marked `namespaces` are left out."""


def leave_out_root() -> None:
    """Leaves out a test that builds a tree below pytest's own folder: without isolation root's builds are
    another user's, who does not get there.
    """
    if ISOLATION == "none" and os.geteuid() == 0:
        pytest.skip(
            "root's builds are another user's without isolation (ISOLATION=none), who does not get into"
            " pytest's folders"
        )
