#!/bin/sh
# Builds the benchmarks against the version of the library that lies in vendor/, what only newer ones have behind a tag, and the object file that
# they load by the newest clang of this host.
set -e
tags=
if grep -qs '^func (p \*Program) Stats()' vendor/github.com/cilium/ebpf/prog.go; then
	tags=program_stats
fi
clang=$(find /usr/bin -name clang -o -name 'clang-[0-9]' -o -name 'clang-[0-9][0-9]' | sort -V | tail -n 1)
if [ -n "$clang" ]; then
	"$clang" -O2 -g -target bpf -mcpu=v3 -Wall -Werror -x c -c collection.bpf.c.in -o collection.bpf.o
fi
exec go test -c -tags "$tags" -o cilium-ebpf.test
