#!/usr/bin/env bash
# Installs act, pinned, into the virtual environment: it runs .github/workflows on this machine. Needs Go.
set -euo pipefail
cd "$(dirname "$0")/.."
[ ! -x .venv/bin/act ] || exit 0
command -v go > /dev/null || { echo "install-act: no Go here; the tests that need act will be skipped"; exit 0; }
GOFLAGS=-mod=mod GOBIN=$PWD/.venv/bin go install github.com/nektos/act@v0.2.89 ||
  echo "install-act: could not be fetched; the tests that need it will be skipped"
