"""How the help of the command groups its subcommands, and that of `run` its options."""

COMMANDS = {
    "Measure": ("run", "releases", "affected", "suites", "record", "doctor"),
    "Compare": ("compare", "export", "parse"),
    "Investigate": ("bisect", "bisect-run"),
    "Use a service": ("submit", "upload", "mcp"),
    "Run a service": (
        "serve",
        "tasks",
        "token",
        "follow",
        "subscribe",
        "github",
        "demo-data",
        "dataset",
        "migrate",
        "backup",
        "restore",
    ),
    "Run a host": ("host", "worker", "cache"),
    "Called by other programs": ("ci", "builder"),
}

OPTIONS_OF_RUN = {
    "What is compared": (
        "--tree",
        "--base",
        "--head",
        "--series",
        "--patch",
        "--kernel",
        "--arm",
        "--arms",
        "--tree-access",
        "--trust",
    ),
    "What is measured": (
        "--suite",
        "--case",
        "--profile",
        "--mode",
        "--accel",
        "--boots",
        "--layouts",
        "--time",
        "--matched",
        "--only-affected",
        "--bench-from",
        "--bench-args",
        "--data",
        "--function-counts",
        "--perf-profile",
        "--seed",
    ),
    "How kernels are built": ("--config", "--cc", "--clang", "--pahole", "--build-image", "--jobs"),
    "Where it runs": (
        "--platform",
        "--shape",
        "--cpus",
        "--memory",
        "--pin",
        "--guest-root",
        "--isolation",
        "--limit",
        "--hang-after",
        "--cache",
        "--cache-size",
    ),
    "What is reported": (
        "--out",
        "--format",
        "--report-out",
        "--threshold",
        "--fail-on",
        "--varying",
        "--all-metrics",
        "--explain",
        "--in-reply-to",
        "--mail-from",
        "--upload",
        "--dry-run",
    ),
}


def group_help(settings: object) -> None:
    """Puts the groups into the settings of rich-click (`rich_click.rich_click`)."""
    commands = [{"name": name, "commands": list(members)} for name, members in COMMANDS.items()]
    options = [{"name": name, "options": list(members)} for name, members in OPTIONS_OF_RUN.items()]
    settings.COMMAND_GROUPS = {"cliffwatch": commands}  # type: ignore[attr-defined]
    settings.OPTION_GROUPS = {"cliffwatch run": options}  # type: ignore[attr-defined]
