"""The process that a service has for its tasks (cliffwatch_service.tasks.process)."""

import pickle
import sys


def main() -> None:
    # structlog takes rich along where it is there, to draw tracebacks on a terminal: 5 MB that a process without one does not need.
    sys.modules["rich"] = None  # type: ignore[assignment]
    import structlog  # noqa: F401, PLC0415

    del sys.modules["rich"]
    from cliffwatch_service.tasks.process import work_for  # noqa: PLC0415

    work_for(*pickle.load(sys.stdin.buffer))  # noqa: S301 - of the parent process alone


if __name__ == "__main__":
    main()
