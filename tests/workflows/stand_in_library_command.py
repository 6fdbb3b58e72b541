"""`cliffwatch` whose guests are played by tests/fakevng and whose catalogue is the folder $STEPPING: what a
Go library's jobs run in tests.
"""

import os
import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "runner"), str(TESTS / "service")]

from stepping_suite import be_the_catalogue  # noqa: E402

be_the_catalogue(Path(os.environ["STEPPING"]))
import stand_in_command  # noqa: E402, F401 - it ends with the command
