#!/usr/bin/env bash
# The demo: base is a real kernel tree, head is the same with the example patch. `demo.sh [TREE]`; without TREE the newest
# source package of the distribution under /usr/src is taken. $SUITE is a suite of the catalogue: one that the patch does not move is
# measured on the same kernel twice, which shows what it measures and how it repeats.
set -euo pipefail
cd "$(dirname "$0")/.."
suite=${SUITE:-local-storage}
tools/demo_suite.sh "$suite"
tree=${1:-}
[ -n "$tree" ] || tree=$(find /usr/src -maxdepth 1 -name 'linux-source-*.tar.*' | sort -V | tail -n 1)
[ -n "$tree" ] || { echo "demo: no kernel source under /usr/src; name one: make demo KERNEL_TREE=DIR" >&2; exit 2; }
head=(--head HEAD)
case $suite in
  local-storage*) head+=(--patch examples/uninline-local-storage-lookup.patch) ;;
  *) echo "demo: the example's patch changes local storage alone, so that $suite is measured on the same kernel twice" ;;
esac
# Without isolation what root starts of a tree runs as another user, who does not get into root's home.
cache=()
if [ "$(id -u)" = 0 ] && [ "${ISOLATION:-auto}" = none ]; then cache=(--cache /var/cache/cliffwatch); fi
exec "${CLIFFWATCH:-.venv/bin/cliffwatch}" run --tree "$tree" --base HEAD "${head[@]}" \
  --suite "$suite" --profile smoke --mode icount --isolation "${ISOLATION:-auto}" "${cache[@]}" ${DEMO_OUT:+--out "$DEMO_OUT"}
