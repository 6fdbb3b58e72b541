"""`cliffwatch` whose guests are played by tests/fakevng: what a worker's tests run in place of
the real one.
"""

import sys
from pathlib import Path

from cliffwatch.command.main import main
from cliffwatch_runner.plan import prepare
from cliffwatch_runner.run import prepared_run

TESTS = Path(__file__).parents[1]

prepared_run.guest_programs = lambda: (TESTS / "fakevng",)  # type: ignore[assignment]
prepare._NEEDED_BYTES = 0  # type: ignore[attr-defined]
sys.argv[0] = "cliffwatch"
main()
