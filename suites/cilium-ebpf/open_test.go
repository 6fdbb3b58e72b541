// SPDX-License-Identifier: GPL-2.0-or-later

package ebpfbench

import (
	"testing"

	"github.com/cilium/ebpf"
)

func BenchmarkMapFromFD(b *testing.B) {
	fds := duplicates(b, smallMap(b).FD())
	maps := opening[*ebpf.Map](b)
	b.ReportAllocs()
	b.ResetTimer()
	for _, fd := range fds {
		opened, err := ebpf.NewMapFromFD(fd)
		maps.take(b, opened, err)
	}
}

func BenchmarkMapFromID(b *testing.B) {
	info, err := smallMap(b).Info()
	if err != nil {
		b.Fatal(err)
	}
	id, _ := info.ID()
	maps := opening[*ebpf.Map](b)
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		opened, err := ebpf.NewMapFromID(id)
		maps.take(b, opened, err)
	}
}

func BenchmarkMapFromPin(b *testing.B) {
	path := pin(b, smallMap(b))
	maps := opening[*ebpf.Map](b)
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		opened, err := ebpf.LoadPinnedMap(path, nil)
		maps.take(b, opened, err)
	}
}

func BenchmarkProgramFromFD(b *testing.B) {
	fds := duplicates(b, newProgram(b, passing("small")).FD())
	programs := opening[*ebpf.Program](b)
	b.ReportAllocs()
	b.ResetTimer()
	for _, fd := range fds {
		opened, err := ebpf.NewProgramFromFD(fd)
		programs.take(b, opened, err)
	}
}

func BenchmarkProgramFromID(b *testing.B) {
	info, err := newProgram(b, passing("small")).Info()
	if err != nil {
		b.Fatal(err)
	}
	id, _ := info.ID()
	programs := opening[*ebpf.Program](b)
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		opened, err := ebpf.NewProgramFromID(id)
		programs.take(b, opened, err)
	}
}

func BenchmarkProgramFromPin(b *testing.B) {
	path := pin(b, newProgram(b, passing("small")))
	programs := opening[*ebpf.Program](b)
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		opened, err := ebpf.LoadPinnedProgram(path, nil)
		programs.take(b, opened, err)
	}
}
