#!/usr/bin/env bash
# Installs the wheels of dist/ into an empty environment, as a user would, and starts what needs the files that lie beside the code:
# the catalogue, the units' templates, the tuning helper, the migrations. The environment is made in the folder that is named, and
# stays there; without a name it goes at the end.
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/package_settings.sh
share_settings .venv/bin/pip
uv=$PWD/.venv/bin/uv
place=${1:-}
if [ -n "$place" ]; then mkdir -p "$place"; else
  place=$(mktemp -d)
  trap 'rm -rf "$place"' EXIT
fi
.venv/bin/python -m venv --without-pip "$place/venv"
"$uv" pip install --quiet --python "$place/venv/bin/python" --require-hashes -r requirements/runner.txt -r requirements/service.txt
"$uv" pip install --quiet --python "$place/venv/bin/python" --no-deps dist/*.whl
cd "$place"
cliffwatch=venv/bin/cliffwatch
say() { echo "wheels-test: $*"; }

say "$($cliffwatch --version)"
$cliffwatch suites check > /dev/null
say "$($cliffwatch suites | grep -c .) lines of suites"
(umask 077; echo cw_0123456789abcdef > token)
$cliffwatch host install --url https://bench.example.org --platform amd-rome --mode walltime --name rome-1 --token-file token \
  --program /opt/cliffwatch/bin/cliffwatch --root . --dry-run | grep -q '^ProtectSystem=strict$'
say "templates of units"
$cliffwatch doctor --tuning-helper helper > /dev/null
say "the tuning helper"
venv/bin/python - <<'EOF'
import cliffwatch, cliffwatch_runner, cliffwatch_service
from cliffwatch_service.postgres.migrate import migrations_folder
from pathlib import Path

here = Path.cwd()
for package in (cliffwatch, cliffwatch_runner, cliffwatch_service):
    assert here in Path(package.__file__).parents, f"{package.__file__} is not of the wheel"
steps = sorted((migrations_folder() / "versions").glob("*.py"))
assert steps and here in steps[0].parents, "no migrations in the wheel"
print(f"wheels-test: {len(steps)} migrations")
EOF
"$uv" pip check --quiet --python venv/bin/python
say "good"
