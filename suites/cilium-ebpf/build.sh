#!/bin/sh
# Builds the benchmarks against the version of the library that lies in vendor/: what only newer ones have is behind a tag.
set -e
tags=
if grep -qs '^func (p \*Program) Stats()' vendor/github.com/cilium/ebpf/prog.go; then
	tags=program_stats
fi
exec go test -c -tags "$tags" -o cilium-ebpf.test
