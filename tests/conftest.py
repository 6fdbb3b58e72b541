"""What every test may use."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def data() -> Path:
    """The folder of recorded outputs."""
    return Path(__file__).parent / "data"
