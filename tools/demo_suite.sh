#!/usr/bin/env bash
# `demo_suite.sh SUITE`: ends with 2 and says what there is where the catalogue has no such suite. It needs nothing that is installed.
set -euo pipefail
cd "$(dirname "$0")/../suites"
suite=${1:-}
if [[ $suite =~ ^[a-z0-9][a-z0-9-]*$ && -f $suite/suite.toml ]]; then exit 0; fi
known=$(for file in */suite.toml; do printf ' %s' "${file%/*}"; done)
echo "demo: there is no suite '$suite'; make demo SUITE=NAME with one of:$known" >&2
exit 2
