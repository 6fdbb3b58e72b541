"""Writes docs/schemas/table.schema.json, the Table Schema of exports and of the public dataset, from the
columns in the code.

.venv/bin/python tools/write_table_schema.py
"""

import json
from pathlib import Path

from cliffwatch.parsers.table.columns import table_schema

FILE = Path(__file__).parents[1] / "docs/schemas/table.schema.json"

if __name__ == "__main__":
    FILE.write_text(json.dumps(table_schema(), indent=1) + "\n")
    print(FILE)
