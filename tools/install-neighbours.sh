#!/usr/bin/env bash
# Installs the step detectors that calibration runs beside ours, pinned, each in an environment of its own: they pin other versions of numpy.
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/package_settings.sh
share_settings .venv/bin/pip
for name in otava spa; do
  folder=.venv/neighbours/$name
  [ -x "$folder/bin/python" ] || .venv/bin/uv venv --quiet --python 3.11 "$folder"
  .venv/bin/uv pip install --quiet --python "$folder/bin/python" --require-hashes -r "requirements/$name.txt"
done
