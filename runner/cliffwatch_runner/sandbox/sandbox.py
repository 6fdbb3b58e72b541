"""The sandbox of a command that runs somebody else's code: its file systems, its user, its system calls."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from cliffwatch_runner.process import ProcessInput
from cliffwatch_runner.sandbox.seccomp_filter import filter_call
from cliffwatch_runner.sandbox.unprivileged_user import User

Level = Literal["bubblewrap", "container", "none"]

HOME = Path("/tmp")  # noqa: S108 - of the view: in memory, and gone with it
_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
_ETC = (
    "alternatives",
    "group",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "localtime",
    "nsswitch.conf",
    "os-release",
    "passwd",
    "udev",
)
_EMPTY = (
    "/etc",
    "/var",
    "/run",
    "/sys",
    "/home",
    "/root",
    "/opt",
    "/srv",
    "/mnt",
    "/var/log",
    "/var/tmp",  # noqa: S108 - a folder of the view
    "/var/lib",
    "/var/cache",
)
_ENGINE_SETTINGS = ("DOCKER_HOST", "DOCKER_CONFIG", "DOCKER_CONTEXT", "HOME", "PATH", "XDG_RUNTIME_DIR")
_KEPT_BY_SETPRIV = ("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """A folder of the host, and its path in the sandbox."""

    source: Path
    target: Path
    writable: bool = False
    device: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Sandbox:
    """The isolation that a host has. `user` is whom the command becomes, None where we are no root; `image`
    is the container's, None for the one that we are in; `calls` is the filter of system calls that
    bubblewrap applies (cliffwatch_runner.sandbox.seccomp_filter).
    """

    level: Level
    user: User | None
    image: str | None = None
    calls: bytes | None = None
    engine: str = "docker"
    engine_options: tuple[str, ...] = ()

    @property
    def fixed_paths(self) -> bool:
        """Whether a command sees its folders under the same names every time, wherever they lie
        on the host.
        """
        return self.level == "bubblewrap" or self.image is not None

    @property
    def shares_session(self) -> bool:
        """Whether a build may stay in the session of who starts it: it gets neither to the terminal nor, for
        the filter of system calls, into another session.
        """
        return self.level == "bubblewrap" and self.calls is not None

    @property
    def uid(self) -> int:
        """Whom the command runs as, by number."""
        return os.geteuid() if self.user is None else self.user.uid

    def argv(
        self,
        command: Sequence[str],
        *,
        env: Mapping[str, str],
        mounts: Sequence[Mount],
        workdir: Path,
        groups: tuple[int, ...] = (),
        own_session: bool = True,
    ) -> list[str]:
        """The command in its sandbox. Later mounts lie over earlier ones. `own_session` may be false where it
        `shares_session`.

        Start it with `process_input()`: bubblewrap reads the filter there.
        """
        if self.image is not None:
            return self._container(command, env, mounts, workdir)
        if self.level == "bubblewrap":
            return self._bubblewrap(command, env, mounts, workdir, groups, own_session)
        clean = [
            "env",
            "-i",
            f"--chdir={workdir}",
            *(f"{name}={value}" for name, value in env.items()),
            *command,
        ]
        return clean if self.user is None else self.user.argv(clean, groups=groups)

    def process_input(self) -> ProcessInput:
        """All that the program which makes the sandbox gets: nothing of the environment that the command may
        not read.
        """
        if self.image is not None:
            kept = {name: os.environ[name] for name in _ENGINE_SETTINGS if name in os.environ}
            return ProcessInput(env=kept, given=None)
        return ProcessInput(
            env={"PATH": os.environ.get("PATH", _PATH), "LC_ALL": "C.UTF-8"}, given=self.calls
        )

    def give(self, folder: Path) -> None:
        """Makes a folder the command's own, for it to write to."""
        if self.user is not None:
            self.user.own(folder)

    def _bubblewrap(
        self,
        command: Sequence[str],
        env: Mapping[str, str],
        mounts: Sequence[Mount],
        workdir: Path,
        groups: tuple[int, ...],
        own_session: bool,
    ) -> list[str]:
        argv = view_of_host(self.user, own_session=own_session)
        for name, value in env.items():
            argv += ["--setenv", name, value]
        for folder in dict.fromkeys(
            above for mount in mounts for above in reversed(mount.target.parents[:-1])
        ):
            argv += [
                "--dir",
                str(folder),
            ]  # made on the way, it would be closed to the user who runs in the view
        for mount in mounts:
            how = "--dev-bind" if mount.device else "--bind" if mount.writable else "--ro-bind"
            argv += [how, str(mount.source), str(mount.target)]
        argv += ["--remount-ro", "/", "--chdir", str(workdir), "--"]
        inner = list(command)
        argv += inner if self.user is None else self.user.argv(inner, groups=groups)
        return argv if self.calls is None else filter_call(argv)

    def _container(
        self, command: Sequence[str], env: Mapping[str, str], mounts: Sequence[Mount], workdir: Path
    ) -> list[str]:
        assert self.image is not None
        settings = [
            word for name, value in env.items() if name != "PATH" for word in ("--env", f"{name}={value}")
        ]
        volumes = [
            word
            for mount in mounts
            for word in ("--volume", f"{mount.source}:{mount.target}" + ("" if mount.writable else ":ro"))
        ]
        ids = (self.user.uid, self.user.gid) if self.user is not None else (os.getuid(), os.getgid())
        isolation = [
            "--network",
            "none",
            "--cap-drop",
            "ALL",
            "--security-opt",
            "no-new-privileges",
            "--read-only",
        ]
        head = [
            self.engine,
            "run",
            "--rm",
            "--init",
            *isolation,
            *self.engine_options,
            "--tmpfs",
            f"{HOME}:exec,mode=1777",
        ]
        return [
            *head,
            *("--user", f"{ids[0]}:{ids[1]}", *settings, *volumes, "--workdir", str(workdir)),
            *(self.image, *command),
        ]


def view_of_host(
    user: User | None, *, own_session: bool = True, etc: Path = Path("/etc"), top: Path = Path("/")
) -> list[str]:
    """A bubblewrap call whose view has the host's programs and nothing of its users: no home, no secret, no
    network.

    With a user to become it makes no user namespace: root makes the view, and what setpriv needs to become
    him is all that is left of root's rights. Nobody but him runs in it then, so that the host's root owns
    nothing that he could write. In the session of who starts it, it has no device that leads to his
    terminal.
    """
    argv = [
        "bwrap",
        "--unshare-ipc",
        "--unshare-pid",
        "--unshare-net",
        "--unshare-uts",
        "--unshare-cgroup-try",
    ]
    argv += ["--die-with-parent", "--clearenv", *(["--new-session"] if own_session else [])]
    if user is None:
        argv += ["--unshare-user"]
    else:
        argv += [word for right in _KEPT_BY_SETPRIV for word in ("--cap-add", right)]
    argv += ["--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys", "--dev", "/dev"]
    argv += [] if own_session else ["--dev-bind", "/dev/null", "/dev/tty"]
    argv += ["--perms", "1777", "--tmpfs", str(HOME), "--ro-bind", "/usr", "/usr"]
    for folder in _EMPTY:
        argv += ["--dir", folder]
    for path, target in host_links(top).items():
        argv += ["--symlink", target, path]
    for name in _ETC:
        argv += ["--ro-bind-try", str(etc / name), f"/etc/{name}"]
    return argv


def host_links(top: Path) -> Mapping[str, str]:
    """The links of a merged-/usr host at its top: {"/bin": "usr/bin", …}."""
    names = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
    return {f"/{name}": str((top / name).readlink()) for name in names if (top / name).is_symlink()}
