"""The sandbox of a command that runs untrusted code: its file systems, its user, its system calls."""

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
SEARCH_PATH = "/usr/lib/ccache:/usr/sbin:/usr/bin:/sbin:/bin"
"""Where builds look for programs."""

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
    """A folder of the host that is mounted in the sandbox."""

    source: Path
    """Path on the host."""
    target: Path
    """Path in the sandbox."""
    writable: bool = False
    device: bool = False
    """True if device files in it may be used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sandbox:
    """The isolation that commands run in."""

    level: Level
    user: User | None
    """User that the command switches to; None if we are not root."""
    image: str | None = None
    """Container image; None for the container that we run in, or without a container."""
    calls: bytes | None = None
    """System call filter for bubblewrap (see seccomp_filter); None without one."""
    engine: str = "docker"
    engine_options: tuple[str, ...] = ()
    programs: tuple[Path, ...] = ()
    """Folders and programs of the host outside /usr that bubblewrap's view has, read-only."""
    searched: tuple[Path, ...] = ()
    """Folders that are searched for programs before SEARCH_PATH."""

    @property
    def fixed_paths(self) -> bool:
        """True if a command sees its folders under fixed names, wherever they are on the host."""
        return self.level == "bubblewrap" or self.image is not None

    @property
    def search_path(self) -> str:
        """The PATH of a build outside a container."""
        return ":".join((*map(str, self.searched), SEARCH_PATH))

    @property
    def shares_session(self) -> bool:
        """True if a build may stay in its caller's session.

        It can then reach neither the terminal nor, because of the system call filter, another session.
        """
        return self.level == "bubblewrap" and self.calls is not None

    @property
    def uid(self) -> int:
        """Uid that the command runs as."""
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
        """Returns the command in its sandbox. Later mounts cover earlier ones.

        `own_session` may be false only if `shares_session`. Start the command with `process_input()`, from
        which bubblewrap reads the filter.
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
        """Returns the complete input of the program that creates the sandbox.

        Its environment has no variable that the command may not read.
        """
        if self.image is not None:
            kept = {name: os.environ[name] for name in _ENGINE_SETTINGS if name in os.environ}
            return ProcessInput(env=kept, given=None)
        return ProcessInput(
            env={"PATH": os.environ.get("PATH", _PATH), "LC_ALL": "C.UTF-8"}, given=self.calls
        )

    def give(self, folder: Path) -> None:
        """Makes the command's user the owner of a folder, to write to."""
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
        mounts = [*(Mount(source=each, target=each) for each in self.programs), *mounts]
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


def view_of_host(user: User | None, *, own_session: bool = True) -> list[str]:
    """Returns a bubblewrap call whose view has the host's programs but no home, no secret and no network.

    With a `user`, root creates the view without a user namespace, and keeps only the rights that setpriv
    needs to switch to that user. Only that user runs in the view, so that the host's root owns nothing that
    the command could write. Without `own_session` the view has no device that leads to the caller's terminal.
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
    for path, target in _host_links().items():
        argv += ["--symlink", target, path]
    for name in _ETC:
        argv += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    return argv


def _host_links() -> Mapping[str, str]:
    """Returns the top-level links of a merged-/usr host: {"/bin": "usr/bin", …}."""
    names = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
    return {f"/{name}": str(Path("/", name).readlink()) for name in names if Path("/", name).is_symlink()}
