"""Checks whether a tree's code can be isolated, and if not, what prevents it."""

from cliffwatch_runner.doctor.check import Check
from cliffwatch_runner.doctor.facts import HostFacts
from cliffwatch_runner.sandbox.namespaces import TRUST_ADVICE


def isolation(facts: HostFacts) -> Check:
    """Without namespaces, neither builds nor guests run unless the user gives --isolation none."""
    refusal = facts.refusal
    return Check(
        name="isolation",
        group="build",
        status="ok" if refusal is None else "fail",
        finding="bubblewrap makes namespaces" if refusal is None else refusal.message,
        why="It keeps a tree's Makefiles and its kernel away from your files and the network.",
        fixes=() if refusal is None else refusal.commands or (refusal.otherwise, TRUST_ADVICE),
    )
