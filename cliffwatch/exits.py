"""Exit codes of the `cliffwatch` command, fixed by its interface."""

from enum import IntEnum


class Exit(IntEnum):
    """0 = done; 1 = done and `--fail-on` was met; 2 = wrong usage or unreadable input; 3 = the kernel under test failed;
    4 = this host or service failed. An interrupted run ends with 130, as shells expect.
    """

    DONE = 0
    FAIL_ON_MET = 1
    USAGE = 2
    KERNEL_FAILED = 3
    HOST_FAILED = 4
    INTERRUPTED = 130
