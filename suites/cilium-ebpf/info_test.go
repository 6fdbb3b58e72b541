// SPDX-License-Identifier: GPL-2.0-or-later

package ebpfbench

import (
	"testing"
)

// Of what the kernel does not say by itself, such as the memory of a map, the library scans /proc/self/fdinfo: MapMemory asks for that.
func BenchmarkMapInfo(b *testing.B) {
	asked := smallMap(b)
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		if _, err := asked.Info(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMapMemory(b *testing.B) {
	asked := smallMap(b)
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		info, err := asked.Info()
		if err != nil {
			b.Fatal(err)
		}
		if bytes, known := info.Memlock(); !known || bytes == 0 {
			b.Fatal("the memory of the map is not known")
		}
	}
}

func BenchmarkProgramInfo(b *testing.B) {
	asked := newProgram(b, passing("small"))
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		if _, err := asked.Info(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkProgramStats(b *testing.B) {
	asked := newProgram(b, passing("small"))
	run(b, asked)
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		if err := readStats(asked); err != nil {
			b.Fatal(err)
		}
	}
}
