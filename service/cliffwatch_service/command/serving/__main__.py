"""Starts a service with the options from `cliffwatch serve`, passed as JSON in the first argument."""

import json
import sys
from pathlib import Path

from cliffwatch_service.runtime.plain_structlog import load_structlog


def main() -> None:
    asked = json.loads(sys.argv[1])
    load_structlog()
    from cliffwatch.command.ending import honest_exit  # noqa: PLC0415
    from cliffwatch.command.streams import prepare_streams  # noqa: PLC0415
    from cliffwatch_service.command.serving.server import serve_at  # noqa: PLC0415

    folder = asked["data_dir"]
    prepare_streams()
    with honest_exit():
        serve_at(asked["host"], asked["port"], None if folder is None else Path(folder), tasks=asked["tasks"])


if __name__ == "__main__":
    main()
