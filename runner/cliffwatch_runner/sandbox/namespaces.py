"""Tries whether bubblewrap can create namespaces on this host. If not, finds the cause and the fix."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cliffwatch.failure import Failure, host_failed
from cliffwatch_runner import process
from cliffwatch_runner.host.facts import read_word
from cliffwatch_runner.sandbox.guard import guard_sandbox
from cliffwatch_runner.sandbox.limits import host_limits
from cliffwatch_runner.sandbox.sandbox import HOME, Sandbox
from cliffwatch_runner.sandbox.seccomp_filter import filter_program
from cliffwatch_runner.sandbox.unprivileged_user import unprivileged_user

_TRIAL_SECONDS = 300.0
"""Deadline of a trial that takes milliseconds: a busy host must not lose the isolation of its builds."""

_LONGEST_WORDS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceRefusal:
    """Why a tree's code cannot be isolated on this host."""

    message: str
    """One sentence that ends with bubblewrap's own output."""

    commands: tuple[str, ...] = ()
    """Commands that allow namespaces permanently."""

    otherwise: str = ""
    """What to do if no command helps."""

    def failure(self, instead: str = "") -> Failure:
        """Returns the refusal as a failure of this host. `instead` is the caller's alternative."""
        step = "; ".join(f"`{command}`" for command in self.commands) or self.otherwise
        return host_failed(self.message, f"{step}; or {instead}" if instead else step)


TRUST_ADVICE = (
    "where you trust the tree as you trust what you run by hand: --isolation none, make demo ISOLATION=none"
)
"""Alternative for the person who starts a run; never for a worker."""

NOT_INSTALLED = NamespaceRefusal(
    message="bubblewrap is not installed, which keeps a tree's code in",
    commands=("sudo apt install bubblewrap",),
)
_PROFILE = (
    r"printf 'abi <abi/4.0>,\ninclude <tunables/global>\nprofile bwrap /usr/bin/bwrap flags=(unconfined) {\n "
    r" userns,\n}\n'"
    " | sudo tee /etc/apparmor.d/bwrap && sudo apparmor_parser -r /etc/apparmor.d/bwrap"
)
_SYSCTL = "echo {setting} | sudo tee /etc/sysctl.d/60-namespaces.conf && sudo sysctl --system"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Switch:
    """A setting that keeps an ordinary user from creating namespaces."""

    path: str
    """Below /proc/sys."""
    value: str
    """The value that forbids them."""
    whose: str
    """Subject of the message: who forbids them."""
    fix: str
    """Shell command that allows them."""

    @property
    def setting(self) -> str:
        return f"{self.path.replace('/', '.')}={self.value}"


_SWITCHES = (
    _Switch(
        path="kernel/apparmor_restrict_unprivileged_userns",
        value="1",
        whose="AppArmor, as in Ubuntu since 23.10,",
        fix=_PROFILE,
    ),
    _Switch(
        path="kernel/unprivileged_userns_clone",
        value="0",
        whose="a setting of Debian's kernel",
        fix=_SYSCTL.format(setting="kernel.unprivileged_userns_clone=1"),
    ),
    _Switch(
        path="user/max_user_namespaces",
        value="0",
        whose="a setting of the kernel",
        fix=_SYSCTL.format(setting="user.max_user_namespaces=10000"),
    ),
)

_PROC_IS_COVERED = "mount proc"
"""In bubblewrap's output if the kernel refuses a new /proc.

The kernel does so if a mount covers a part of the current /proc.
"""

_UNCOVER = (
    "take ProtectKernelTunables=, ProtectKernelLogs= and ProcSubset= out of the unit that starts Cliffwatch;"
    " start a container with --security-opt systempaths=unconfined"
)
_IN_A_CONTAINER = (
    "in a container: start it with --cap-add SYS_ADMIN --security-opt seccomp=unconfined --security-opt"
    " apparmor=unconfined"
)


def bubblewrap_refusal(root: Path = Path("/")) -> NamespaceRefusal | None:
    """Returns why bubblewrap does not work here now; None if it works.

    The trial runs under the limits of a build.
    """
    user = unprivileged_user()
    sandbox = Sandbox(level="bubblewrap", user=user, calls=filter_program())
    if shutil.which("bwrap", path=sandbox.process_input().env["PATH"]) is None:
        return NOT_INSTALLED
    words = _words_of_bubblewrap(sandbox)
    # Root makes its sandbox without a namespace of users: these settings are not what keeps it from that.
    return None if words is None else explain_refusal(words, {} if user is not None else _settings(root))


def _words_of_bubblewrap(sandbox: Sandbox) -> str | None:
    """Returns bubblewrap's output if the trial failed; None if it worked."""
    argv = sandbox.argv(["true"], env={"PATH": "/usr/bin:/bin"}, mounts=(), workdir=HOME)
    with guard_sandbox(host_limits(_TRIAL_SECONDS), (), user=sandbox.uid) as guard:
        ended = process.run(
            guard.argv(argv),
            deadline=_TRIAL_SECONDS,
            env=sandbox.process_input(),
            on_start=guard.begin,
            should_stop=guard.should_stop,
        )
        limit = guard.failure("the trial")
    if limit is not None:
        return limit.message
    return None if ended.ok else ended.output.strip() or f"bwrap: ended with {ended.status}"


def _settings(root: Path) -> dict[str, str | None]:
    return {switch.path: read_word(root / "proc/sys" / switch.path) for switch in _SWITCHES}


def explain_refusal(words: str, settings: Mapping[str, str | None]) -> NamespaceRefusal:
    """Explains a failure of bubblewrap from its output and from the values of settings below /proc/sys.

    Pure.
    """
    said = words.splitlines()[-1][-_LONGEST_WORDS:]
    switches = [switch for switch in _SWITCHES if settings.get(switch.path) == switch.value]
    if _PROC_IS_COVERED in said:
        return NamespaceRefusal(
            message=f"a part of /proc is covered here, so that bubblewrap can mount none of its own: {said}",
            otherwise=_UNCOVER,
        )
    if not switches:
        return NamespaceRefusal(
            message=f"this host lets bubblewrap make no namespaces: {said}", otherwise=_IN_A_CONTAINER
        )
    whose = " and ".join(f"{switch.whose} ({switch.setting})" for switch in switches)
    verb = "lets" if len(switches) == 1 else "let"
    return NamespaceRefusal(
        message=f"{whose} {verb} bubblewrap make no namespaces: {said}",
        commands=tuple(switch.fix for switch in switches),
    )
