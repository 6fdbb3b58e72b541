"""Programs without root's powers, for tests of what an ordinary user meets; root's CI runs them too."""

import os
from collections.abc import Sequence

_WITHOUT_POWERS = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs"]


def as_ordinary_user(argv: Sequence[str]) -> list[str]:
    """The command as one to whom permissions apply: root without his capabilities, an ordinary
    user as he is.
    """
    return [*_WITHOUT_POWERS, *argv] if os.geteuid() == 0 else list(argv)
