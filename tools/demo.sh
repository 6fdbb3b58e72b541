#!/usr/bin/env bash
# The demo: base is a real kernel tree, head is the same with the example patch. `demo.sh [TREE]`; without TREE the newest
# source package of the distribution under /usr/src is taken. $SUITE is a suite of the catalogue: one that the patch does not move is
# measured on the same kernel twice, which shows what it measures and how it repeats.
#
# With QUICK=1 no kernel is built: the distribution's own is booted twice, as it is and with its JIT hardening BPF programs. KERNEL names another one,
# a package, an image or a folder as in docs/prebuilt.md. Bench is built from the tree.
set -euo pipefail
cd "$(dirname "$0")/.."
suite=${SUITE:-local-storage}
tools/demo_suite.sh "$suite"
tree=${1:-}
[ -n "$tree" ] || tree=$(find /usr/src -maxdepth 1 -name 'linux-source-*.tar.*' | sort -V | tail -n 1)
[ -n "$tree" ] || { echo "demo: no kernel source under /usr/src; name one: make demo KERNEL_TREE=DIR" >&2; exit 2; }
if [ -n "${QUICK:-}" ]; then
  kernel=${KERNEL:-$(tools/fetch_kernel_package.sh)}
  arms=(--arm "base=kernel=$kernel" --arm "head=kernel=$kernel sysctl=net.core.bpf_jit_harden=2" --bench-from HEAD)
  # Three of its seven cases: each takes a quarter of a minute.
  if [ "$suite" = local-storage ]; then arms+=(--case nr_maps=16 --case '*nr_keys_used=10'); fi
  echo "demo: base is $(basename "$kernel") as it boots, head the same with BPF programs hardened (bpf_jit_harden=2)"
else
  arms=(--base HEAD --head HEAD)
  case $suite in
    local-storage*) arms+=(--patch examples/uninline-local-storage-lookup.patch) ;;
    *) echo "demo: the example's patch changes local storage alone, so that $suite is measured on the same kernel twice" ;;
  esac
fi
# Without isolation what root starts of a tree runs as another user, who does not get into root's home.
cache=()
if [ "$(id -u)" = 0 ] && [ "${ISOLATION:-auto}" = none ]; then cache=(--cache /var/cache/cliffwatch); fi
exec "${CLIFFWATCH:-.venv/bin/cliffwatch}" run --tree "$tree" "${arms[@]}" \
  --suite "$suite" --profile smoke --mode icount --isolation "${ISOLATION:-auto}" "${cache[@]}" ${DEMO_OUT:+--out "$DEMO_OUT"}
