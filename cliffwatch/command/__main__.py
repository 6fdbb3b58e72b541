"""Makes `python -m cliffwatch.command` the same as `cliffwatch`."""

from cliffwatch.command.main import main

main()
