"""Whether a tree's code can be kept in, and what exactly stands in the way where it cannot."""

from collections.abc import Mapping

from cliffwatch_runner.doctor.check import Check
from cliffwatch_runner.doctor.facts import HostFacts

_PROFILE = (
    r"printf 'abi <abi/4.0>,\ninclude <tunables/global>\nprofile bwrap /usr/bin/bwrap flags=(unconfined) {\n  userns,\n}\n'"
    " | sudo tee /etc/apparmor.d/bwrap && sudo apparmor_parser -r /etc/apparmor.d/bwrap"
)
_FIXES: Mapping[tuple[str, str], str] = {
    ("kernel/unprivileged_userns_clone", "0"): (
        "echo kernel.unprivileged_userns_clone=1 | sudo tee /etc/sysctl.d/60-namespaces.conf && sudo sysctl --system"
    ),
    ("kernel/apparmor_restrict_unprivileged_userns", "1"): _PROFILE,
    ("user/max_user_namespaces", "0"): (
        "echo user.max_user_namespaces=10000 | sudo tee /etc/sysctl.d/60-namespaces.conf && sudo sysctl --system"
    ),
}
"""What keeps an ordinary user from making namespaces: a switch, its value, and what allows it again and for good."""

_IN_A_CONTAINER = (
    "In a container: start it with --cap-add SYS_ADMIN --security-opt seccomp=unconfined --security-opt apparmor=unconfined",
    "Elsewhere: build in a container (--build-image), or trust the tree: --isolation none, make demo ISOLATION=none",
)


def isolation(facts: HostFacts) -> Check:
    """Without namespaces neither builds nor guests run, unless the user gives --isolation none."""
    missing = facts.programs.get("bwrap") is None
    good = not missing and facts.bwrap_refusal is None
    return Check(
        name="isolation",
        group="build",
        status="ok" if good else "fail",
        finding="bubblewrap is not installed" if missing else facts.bwrap_refusal or "bubblewrap makes namespaces",
        why="A tree's Makefiles and its kernel are kept from your files and from the network by it.",
        fixes=() if good else ("sudo apt install bubblewrap",) if missing else _fixes(facts),
    )


def _fixes(facts: HostFacts) -> tuple[str, ...]:
    fixes = tuple(fix for (name, value), fix in _FIXES.items() if facts.namespace_switches.get(name) == value)
    return fixes or _IN_A_CONTAINER
