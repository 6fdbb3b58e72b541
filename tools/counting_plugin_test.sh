#!/usr/bin/env bash
# Builds the counting plugin with another distribution's compiler and has its QEMU count a boot sector whose loops are known:
# `counting_plugin_test.sh [IMAGE [INTERFACE]]`, by default Debian 13 with QEMU 10. Needs a container engine and the package archive.
set -euo pipefail
cd "$(dirname "$0")/.."
image=${1:-debian:trixie-slim} interface=${2:-2}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp runner/cliffwatch_runner/guest/counting/counts.c "$work"
PYTHONPATH=tests/runner .venv/bin/python -c '
import sys, test_counting_plugin
for name, code, windows in (
    ("loops", test_counting_plugin.machine_code(), "1 2\n"),
    ("pages", test_counting_plugin.across_pages(), "0 0\n"),
):
    open(f"{sys.argv[1]}/disk-{name}", "wb").write(code)
    open(f"{sys.argv[1]}/windows-{name}", "w").write(windows)' "$work"
# shellcheck disable=SC2016 # for the shell in the container
docker run --rm -v "$work:/work" -w /work -e INTERFACE="$interface" "$image" sh -ec '
  apt-get -qq update > /dev/null
  apt-get -qq install -y --no-install-recommends qemu-system-x86 gcc libc6-dev > /dev/null 2>&1
  qemu-system-x86_64 --version | head -n 1
  gcc -O2 -Wall -Wextra -Werror -fPIC -shared -fvisibility=hidden "-DPLUGIN_INTERFACE=$INTERFACE" -o counts.so counts.c
  for each in loops pages; do
    qemu-system-x86_64 -machine pc -accel tcg -icount shift=0,sleep=off -display none -drive "file=disk-$each,format=raw" \
      -device isa-debug-exit,iobase=0x501,iosize=1 -plugin "./counts.so,mark=7c60,tick=7c70,windows=windows-$each,to=counts-$each" || [ $? = 1 ]
  done
  chmod a+r counts-*'
.venv/bin/python -c '
import sys
from pathlib import Path
from cliffwatch_runner.guest.counting.records import read_counts
counts, pages = (read_counts(Path(sys.argv[1]) / f"counts-{name}") for name in ("loops", "pages"))
loops = {part: int(counts.stretches[1, part].instructions.max()) for part in range(3)}
across = int(pages.stretches[1, 0].instructions.sum())
print(f"marks {counts.marks}, loops {loops}, four instructions on two pages 1000 times: {across}")
assert counts.marks == 3 and loops == {0: 1998, 1: 9998, 2: 138}, "not what the boot sector executes"
assert 4000 < across < 4020, "not what the loop across a page executes"' "$work"
