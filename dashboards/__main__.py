"""Writes generated/*.json from the builders.

    python dashboards [--check]

With --check nothing is written: it fails where a file is not what the builders make.
"""

import argparse
import json
import sys
import warnings
from pathlib import Path
from typing import Any

warnings.filterwarnings("ignore", category=DeprecationWarning, module="grafana_foundation_sdk")

from grafana_foundation_sdk.cog.encoder import JSONEncoder  # noqa: E402
from grafana_foundation_sdk.models.dashboard import Dashboard  # noqa: E402

from builders.cliffs import cliffs  # noqa: E402 - the SDK warns while it is imported
from builders.explorer import explorer  # noqa: E402
from builders.fleet import fleet  # noqa: E402
from builders.hardware import hardware  # noqa: E402
from builders.health import health  # noqa: E402
from builders.overview import overview  # noqa: E402
from builders.trust import trust  # noqa: E402

BUILDERS = (overview, explorer, cliffs, hardware, fleet, trust, health)
GENERATED = Path(__file__).with_name("generated")


def made() -> dict[str, str]:
    """The dashboards by file name, as Grafana reads them."""
    dashboards = [_written(build().build()) for build in BUILDERS]
    return {f"{each['uid']}.json": json.dumps(each, sort_keys=True, indent=2) + "\n" for each in dashboards}


def _written(dashboard: Dashboard) -> dict[str, Any]:
    """A dashboard as JSON; panels are numbered in order. What the SDK writes and Grafana's types no longer
    have is left out.
    """
    content: dict[str, Any] = json.loads(JSONEncoder().encode(dashboard))
    for number, panel in enumerate(content["panels"], 1):
        panel["id"] = number
        if panel["type"] == "table":
            panel["options"].pop("footer", None)
    for variable in content["templating"]["list"]:
        for of_intervals in ("auto", "auto_min", "auto_count"):
            variable.pop(of_intervals, None)
    return content


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true")
    texts = made()
    known = {path.name: path.read_text() for path in GENERATED.glob("*.json")}
    if parser.parse_args().check:
        stale = sorted(name for name in known.keys() | texts.keys() if known.get(name) != texts.get(name))
        if stale:
            print(f"not what the builders make: {', '.join(stale)}; run `make dashboards`", file=sys.stderr)
        return int(bool(stale))
    for name in known.keys() - texts.keys():
        (GENERATED / name).unlink()
    for name, text in texts.items():
        (GENERATED / name).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
