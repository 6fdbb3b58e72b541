// SPDX-License-Identifier: GPL-2.0-or-later

// Package pipes measures what a byte through a pipe costs, by its syscalls.
package pipes

import (
	"syscall"
	"testing"
)

func BenchmarkPipe(b *testing.B) {
	var ends [2]int
	if err := syscall.Pipe(ends[:]); err != nil {
		b.Fatal(err)
	}
	defer syscall.Close(ends[0])
	defer syscall.Close(ends[1])
	b.ReportAllocs()
	calls := 0
	for range b.N {
		message := make([]byte, 1)
		if _, err := syscall.Write(ends[1], message); err != nil {
			b.Fatal(err)
		}
		if _, err := syscall.Read(ends[0], message); err != nil {
			b.Fatal(err)
		}
		calls += 2
	}
	b.ReportMetric(float64(calls)/float64(b.N), "syscalls/op")
}

func BenchmarkGetppid(b *testing.B) {
	for range b.N {
		syscall.Getppid()
	}
}
