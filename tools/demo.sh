#!/usr/bin/env bash
# The demo: base is a real kernel tree, head is the same with the example patch. `demo.sh [TREE]`; without TREE the newest
# source package of the distribution under /usr/src is taken.
set -euo pipefail
cd "$(dirname "$0")/.."
tree=${1:-}
[ -n "$tree" ] || tree=$(find /usr/src -maxdepth 1 -name 'linux-source-*.tar.*' | sort -V | tail -n 1)
[ -n "$tree" ] || { echo "demo: no kernel source under /usr/src; name one: make demo KERNEL_TREE=DIR" >&2; exit 2; }
# Without isolation what root starts of a tree runs as another user, who does not get into root's home.
cache=()
if [ "$(id -u)" = 0 ] && [ "${ISOLATION:-auto}" = none ]; then cache=(--cache /var/cache/cliffwatch); fi
exec .venv/bin/cliffwatch run --tree "$tree" --base HEAD --head HEAD \
  --patch examples/uninline-local-storage-lookup.patch \
  --suite local-storage --profile smoke --mode icount --isolation "${ISOLATION:-auto}" "${cache[@]}" ${DEMO_OUT:+--out "$DEMO_OUT"}
