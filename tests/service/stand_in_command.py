"""`cliffwatch` whose guests are played by tests/fakevng: what a worker's tests run in place of the real one."""

import sys
from pathlib import Path

from cliffwatch.command.main import main
from cliffwatch_runner import preparing, running

TESTS = Path(__file__).parents[1]

running.guest_programs = lambda: (TESTS / "fakevng",)  # type: ignore[assignment]
preparing._NEEDED_BYTES = 0  # type: ignore[attr-defined]
sys.argv[0] = "cliffwatch"
main()
