"""The token for a service: read once and kept in this process only."""

import ctypes
import os
import stat
from pathlib import Path
from urllib.parse import urlsplit

from cliffwatch.failure import Failure, wrong_usage

VARIABLE, FILE_VARIABLE = "CLIFFWATCH_TOKEN", "CLIFFWATCH_TOKEN_FILE"
URL_VARIABLE = "CLIFFWATCH_URL"
_SEEN_BY_BUILDS = (Path("/usr"), Path("/etc"))
_PR_SET_DUMPABLE = 4


def read_token(file: Path | None, *, seen_by_builds: tuple[Path, ...] = ()) -> str | Failure:
    """Reads the token from a file that only its owner can read, or from CLIFFWATCH_TOKEN, which is then
    wiped.

    Refuses a file that builds could see.
    """
    token = _token_of_environment()
    named = os.environ.pop(FILE_VARIABLE, None)
    file = file or (Path(named) if named else None)
    if file is None:
        return token or wrong_usage(
            "there is no token", f"name a file that holds one: --token-file or {FILE_VARIABLE}"
        )
    try:
        mode = file.stat().st_mode
        text = file.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        return wrong_usage(f"{file} cannot be read: {error}", "check the path")
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        return wrong_usage(f"others can read {file}", f"chmod 600 {file}")
    path = file.resolve()
    if any(folder in path.parents for folder in (*_SEEN_BY_BUILDS, *seen_by_builds)):
        return wrong_usage(f"builds can see {file}", "move it out of /usr, /etc and the cache")
    return text or wrong_usage(f"{file} is empty", "write the token into it")


def read_token_for(address: str, file: Path | None) -> str | Failure | None:
    """Reads the token for an address that somebody may have sent: one of `file`, or of the environment if the
    address is of the service that CLIFFWATCH_URL names.

    None without a token, which a public service does not need.
    """
    if file is not None:
        return read_token(file)
    configured = VARIABLE in os.environ or FILE_VARIABLE in os.environ
    ours = _origin(os.environ.get(URL_VARIABLE, "")) == _origin(address)
    return read_token(None) if configured and ours else None


def _origin(address: str) -> tuple[str, str]:
    parts = urlsplit(address)
    return parts.scheme.lower(), parts.netloc.lower()


def _token_of_environment() -> str | None:
    """Returns the variable's value, and wipes it where the kernel would show it as /proc/PID/environ."""
    token = os.environ.get(VARIABLE)
    if token is None:
        return None
    libc = ctypes.CDLL(None)
    libc.getenv.restype = ctypes.c_void_p
    address = libc.getenv(VARIABLE.encode())
    if address:
        ctypes.memset(address, 0, len(os.fsencode(token)))
    del os.environ[VARIABLE]
    return token


def shut_memory() -> None:
    """Hides this process's memory and environment from other processes of its user.

    See PR_SET_DUMPABLE in prctl(2).
    """
    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
