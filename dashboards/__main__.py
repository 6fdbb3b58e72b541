"""Writes generated/*.json from the builders.

    python dashboards [--check]

With --check nothing is written: it fails where a file is not what the builders make.
"""

import argparse
import sys
import warnings
from pathlib import Path

warnings.filterwarnings("ignore", category=DeprecationWarning, module="grafana_foundation_sdk")

from grafana_foundation_sdk.cog.encoder import JSONEncoder  # noqa: E402

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
    """The dashboards by file name, as Grafana reads them; panels are numbered in order."""
    texts = {}
    for build in BUILDERS:
        dashboard = build().build()
        for number, panel in enumerate(dashboard.panels or [], 1):
            panel.id_val = number
        texts[f"{dashboard.uid}.json"] = JSONEncoder(sort_keys=True, indent=2).encode(dashboard) + "\n"
    return texts


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
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
