"""Holds the generated dashboards against Grafana's own types, by TypeScript's compiler.

    npm ci && python check.py

Each dashboard becomes a constant of the type that Grafana publishes, each panel's options and field
options constants of the types of its kind: what Grafana does not know, lacks or writes otherwise does not
compile.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PANELS = {
    "stat": "StatPanelCfg",
    "table": "TablePanelCfg",
    "timeseries": "TimeSeriesPanelCfg",
    "trend": "TrendPanelCfg",
    "xychart": "XYChartPanelCfg",
}
# JSON has the values of enumerations, not their names.
PLAIN = """
type Plain<T> = T extends string ? `${T}` : T extends number | boolean | null | undefined ? T
  : T extends Array<infer Each> ? Array<Plain<Each>> : T extends object ? { [Key in keyof T]: Plain<T[Key]> } : T;
"""


def imports() -> str:
    lines = ['import type { Dashboard, DataQuery, Panel } from "@grafana/schema";']
    lines += [
        f"import type * as {kind} from"
        f' "@grafana/schema/dist/esm/raw/composable/{kind}/panelcfg/x/{name}_types.gen";'
        for kind, name in PANELS.items()
    ]
    return "\n".join(lines)


def constants(number: int, dashboard: dict[str, Any]) -> str:
    notes = dashboard.get("annotations", {}).get("list", [])
    without = [{key: value for key, value in each.items() if key != "target"} for each in notes]
    whole = {**dashboard, "panels": [], "annotations": {"list": without}}
    lines = [f"export const dashboard{number}: Plain<Dashboard> = {json.dumps(whole)};"]
    for panel in dashboard["panels"]:
        name, kind = f"panel{number}_{panel['id']}", panel["type"]
        own = {key: value for key, value in panel.items() if key != "options"}
        custom = panel["fieldConfig"]["defaults"].get("custom", {})
        lines += [
            f"export const {name}: Plain<Omit<Panel, 'options'>> = {json.dumps(own)};",
            (
                f"export const {name}_options: Plain<Partial<{kind}.Options>> ="
                f" {json.dumps(panel.get('options', {}))};"
            ),
            f"export const {name}_fields: Plain<{fields_of(kind)}> = {json.dumps(custom)};",
        ]
    for place, each in enumerate(notes):
        lines.append(
            f"export const note{number}_{place}: Plain<DataQuery> & Record<string, unknown> ="
            f" {json.dumps(each['target'])};"
        )
    return "\n".join(lines)


def fields_of(kind: str) -> str:
    """The type of a kind's field options; a stat has none of its own."""
    return "Record<string, never>" if kind == "stat" else f"Partial<{kind}.FieldConfig>"


def main() -> int:
    files = sorted((HERE.parent / "generated").glob("*.json"))
    parts = [
        imports(),
        PLAIN,
        *(constants(number, json.loads(file.read_text())) for number, file in enumerate(files)),
    ]
    with tempfile.TemporaryDirectory(dir=HERE) as folder:
        source = Path(folder) / "dashboards.ts"
        source.write_text("\n".join(parts))
        options = (
            "--noEmit",
            "--strict",
            "--skipLibCheck",
            "--module",
            "nodenext",
            "--moduleResolution",
            "nodenext",
        )
        compiler = HERE / "node_modules/typescript/bin/tsc"
        return subprocess.run(["node", compiler, *options, source], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
