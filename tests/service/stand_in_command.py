"""`cliffwatch` whose guests are played by tests/fakevng: what a worker's tests run in place of
the real one.
"""

import sys
from pathlib import Path

from cliffwatch.command.main import main
from cliffwatch_runner.run import build, measure

TESTS = Path(__file__).parents[1]

vars(measure)["guest_programs"] = lambda: (TESTS / "fakevng",)
vars(build)["_NEEDED_BYTES"] = 0
sys.argv[0] = "cliffwatch"
main()
