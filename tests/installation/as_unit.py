"""The command of an installed unit in what its settings come to, as far as there is no systemd for it:
`unshare --mount --uts as_unit.py UNIT PLACES`, where PLACES is a JSON file.

`{"user": 64750 or null, "filter": true, "bound": {"/var/lib/cliffwatch-worker": "/tmp/state", …}, "shown":
["/srv/checkout", …]}`: root becomes `user`; folders and files of the unit lie elsewhere; `shown` are read
although ProtectHome= may hide where they lie. What it does: User=, NoNewPrivileges= and no capabilities,
ProtectSystem=strict, ReadWritePaths=, ProtectHome=, ProtectKernelModules=, ProtectHostname=,
SystemCallFilter=, Environment=, UMask=, LimitCORE=. What only systemd does: devices, control groups,
keyrings, families of sockets. A setting that is neither here nor there ends it.
"""

import ctypes
import errno
import json
import os
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

_BIND, _REC, _REMOUNT, _READ_ONLY = 4096, 16384, 32, 1
_FLAGS = {"nosuid": 2, "nodev": 4, "noexec": 8, "noatime": 1024, "nodiratime": 2048, "relatime": 1 << 21}
_DONE = {
    *("User", "Group", "NoNewPrivileges", "CapabilityBoundingSet", "AmbientCapabilities", "ProtectSystem"),
    *(
        "ReadWritePaths",
        "ProtectHome",
        "ProtectKernelModules",
        "ProtectHostname",
        "SystemCallFilter",
        "Environment",
    ),
    *(
        "UMask",
        "LimitCORE",
        "StateDirectory",
        "CacheDirectory",
        "PrivateMounts",
        "SystemCallErrorNumber",
        "ExecStart",
    ),
}
_SYSTEMDS = {
    *(
        "Type",
        "Restart",
        "RestartSec",
        "RestartPreventExitStatus",
        "KillMode",
        "TimeoutStopSec",
        "SyslogIdentifier",
    ),
    *("Delegate", "DelegateSubgroup", "OOMPolicy", "StateDirectoryMode", "CacheDirectoryMode", "KeyringMode"),
    *("RemoveIPC", "DevicePolicy", "RestrictSUIDSGID", "RestrictRealtime", "LockPersonality", "ProtectClock"),
    *("SystemCallArchitectures", "RestrictAddressFamilies"),
}
_HIDDEN = ("/home", "/root", "/run/user", "/usr/lib/modules", "/lib/modules")
_KERNELS = ("/proc", "/sys", "/dev")
_libc = ctypes.CDLL(None, use_errno=True)


def settings(unit: Path) -> Mapping[str, str]:
    """The last value of each setting of [Service]."""
    service = unit.read_text().partition("[Service]\n")[2].partition("\n[")[0]
    pairs = [line.partition("=")[::2] for line in service.splitlines() if line and line[0] != "#"]
    unknown = {name for name, _ in pairs} - _DONE - _SYSTEMDS
    if unknown:
        sys.exit(f"as_unit.py does not know what {unknown} comes to")
    writable = " ".join(value for name, value in pairs if name == "ReadWritePaths")
    return {**dict(pairs), "ReadWritePaths": writable}


def words(value: str) -> list[str]:
    """As systemd reads them, of what our units hold."""
    return [word.replace("%%", "%").replace("$$", "$") for word in shlex.split(value)]


def mount(source: str, target: str, kind: str = "none", flags: int = 0, data: str = "") -> None:
    if _libc.mount(source.encode(), target.encode(), kind.encode(), flags, data.encode()) != 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error), f"{source} -> {target}")


def close_files(unit: Mapping[str, str], bound: Mapping[str, str], shown: Sequence[str]) -> None:
    """ProtectSystem=strict and ProtectHome=, with the unit's own folders and what is shown in
    their places.
    """
    writable = [
        path for path in (word.lstrip("-") for word in unit["ReadWritePaths"].split()) if Path(path).exists()
    ]
    hidden = [path for path in map(Path, shown) if any(path.is_relative_to(folder) for folder in _HIDDEN)]
    tops = [
        str(path) for path in hidden if not any(path != top and path.is_relative_to(top) for top in hidden)
    ]
    own = {path: path for path in (*writable, *tops)} | dict(bound)
    held = {path: os.open(source, os.O_PATH) for path, source in own.items()}
    for path in (*_HIDDEN, "/var/lib", "/var/cache"):
        if Path(path).is_dir() and not Path(path).is_symlink():
            mount("tmpfs", path, "tmpfs", data="mode=0755")
    for path, descriptor in held.items():
        place = Path(path)
        if not place.exists():
            (place.parent if Path(own[path]).is_file() else place).mkdir(parents=True, exist_ok=True)
            if Path(f"/proc/self/fd/{descriptor}").is_file():
                place.touch()
        mount(f"/proc/self/fd/{descriptor}", path, flags=_BIND | _REC)
        os.close(descriptor)
    kept = {*writable, *(path for path in bound if not path.endswith(".token"))}
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        fields = line.split()
        path = re.sub(r"\\(\d{3})", lambda octal: chr(int(octal[1], 8)), fields[4])
        if path not in kept and not path.startswith(_KERNELS):
            flags = sum(_FLAGS.get(option, 0) for option in fields[5].split(","))
            try:
                mount("none", path, flags=_REMOUNT | _BIND | _READ_ONLY | flags)
            except OSError as error:
                if error.errno not in (errno.EINVAL, errno.ENOENT):  # of a mount that another one lies over
                    raise


def main() -> None:
    unit, places = settings(Path(sys.argv[1])), json.loads(Path(sys.argv[2]).read_text())
    close_files(unit, places["bound"], places["shown"])
    os.umask(int(unit["UMask"], 8))
    env = dict(word.split("=", 1) for word in words(unit["Environment"]))
    env["HOME"] = f"/var/lib/{unit['StateDirectory']}"
    user = places["user"]
    become = [] if user is None else [f"--reuid={user}", f"--regid={user}", "--clear-groups"]
    rights = ["--no-new-privs", "--bounding-set=-all", "--inh-caps=-all", "--ambient-caps=-all"]
    filters = [sys.executable, str(Path(__file__).with_name("within_calls.py")), unit["SystemCallFilter"]]
    within = filters if places["filter"] else []
    command = ["env", "-i", *(f"{name}={value}" for name, value in env.items()), *words(unit["ExecStart"])]
    argv = ["prlimit", "--core=0", *within, "setpriv", *become, *rights, *command]
    os.execvp(argv[0], argv)


main()
