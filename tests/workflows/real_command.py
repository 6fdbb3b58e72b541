"""`cliffwatch` as it is, for a runner that has it installed."""

import sys

from cliffwatch.command.main import main

sys.argv[0] = "cliffwatch"
main()
