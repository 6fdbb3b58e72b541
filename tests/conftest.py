"""What every test may use."""

import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))

# A busy machine is no failure; CI draws the same examples every time, so that a change fails for its own sake.
settings.register_profile("steady", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("steady")


@pytest.fixture
def data() -> Path:
    """The folder of recorded outputs."""
    return Path(__file__).parent / "data"
