#!/usr/bin/env bash
# Installs benchstat, pinned, into the virtual environment: tests let it read what we export. Needs Go.
set -euo pipefail
cd "$(dirname "$0")/.."
[ ! -x .venv/bin/benchstat ] || exit 0
command -v go > /dev/null || { echo "install-benchstat: no Go here; the test that needs benchstat will be skipped"; exit 0; }
GOFLAGS=-mod=mod GOBIN=$PWD/.venv/bin go install golang.org/x/perf/cmd/benchstat@v0.0.0-20250214215153-c95ad7d5b636 ||
  echo "install-benchstat: could not be fetched; the test that needs it will be skipped"
