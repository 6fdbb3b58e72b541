"""Entry point of the service's task process (cliffwatch_service.tasks.process)."""

import pickle
import sys

from cliffwatch_service.runtime.plain_structlog import load_structlog


def main() -> None:
    load_structlog()
    from cliffwatch_service.tasks.process import run_task_process  # noqa: PLC0415

    run_task_process(*pickle.load(sys.stdin.buffer))  # noqa: S301 - only the parent process writes it


if __name__ == "__main__":
    main()
