#!/usr/bin/env bash
# Installs actionlint, pinned, into the virtual environment: it reads .github/workflows as GitHub does. Needs Go.
set -euo pipefail
cd "$(dirname "$0")/.."
[ ! -x .venv/bin/actionlint ] || exit 0
command -v go > /dev/null || { echo "install-actionlint: no Go here; the test that needs actionlint will be skipped"; exit 0; }
GOFLAGS=-mod=mod GOBIN=$PWD/.venv/bin go install github.com/rhysd/actionlint/cmd/actionlint@v1.7.12 ||
  echo "install-actionlint: could not be fetched; the test that needs it will be skipped"
