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
open(f"{sys.argv[1]}/disk", "wb").write(test_counting_plugin.machine_code())
open(f"{sys.argv[1]}/windows", "w").write("1 2\n")' "$work"
# shellcheck disable=SC2016 # for the shell in the container
docker run --rm -v "$work:/work" -w /work -e INTERFACE="$interface" "$image" sh -ec '
  apt-get -qq update > /dev/null
  apt-get -qq install -y --no-install-recommends qemu-system-x86 gcc libc6-dev > /dev/null 2>&1
  qemu-system-x86_64 --version | head -n 1
  gcc -O2 -Wall -Wextra -Werror -fPIC -shared -fvisibility=hidden "-DPLUGIN_INTERFACE=$INTERFACE" -o counts.so counts.c
  qemu-system-x86_64 -machine pc -accel tcg -icount shift=0,sleep=off -display none -drive file=disk,format=raw \
    -device isa-debug-exit,iobase=0x501,iosize=1 -plugin ./counts.so,mark=7c60,tick=7c70,windows=windows,to=counts || [ $? = 1 ]
  chmod a+r counts'
.venv/bin/python -c '
import sys
from pathlib import Path
from cliffwatch_runner.guest.counting.records import read_counts
counts = read_counts(Path(sys.argv[1]) / "counts")
loops = {part: int(counts.stretches[1, part].instructions.max()) for part in range(3)}
print(f"marks {counts.marks}, loops {loops}")
assert counts.marks == 3 and loops == {0: 1998, 1: 9998, 2: 138}, "not what the boot sector executes"' "$work"
