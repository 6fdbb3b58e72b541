// SPDX-License-Identifier: GPL-2.0-or-later

package ebpfbench

import (
	"errors"
	"testing"

	"github.com/cilium/ebpf"
)

const entries = 1000

// filled is a map of so many entries, and how many values each has.
func filled(b *testing.B, kind ebpf.MapType) (*ebpf.Map, int) {
	b.Helper()
	made := newMap(b, &ebpf.MapSpec{Name: "filled", Type: kind, KeySize: 8, ValueSize: 8, MaxEntries: entries})
	each := 1
	if kind == ebpf.PerCPUHash {
		possible, err := ebpf.PossibleCPU()
		if err != nil {
			b.Fatal(err)
		}
		each = possible
	}
	keys, values := make([]uint64, entries), make([]uint64, entries*each)
	for i := range keys {
		keys[i] = uint64(i)
	}
	if _, err := made.BatchUpdate(keys, values, nil); err != nil {
		b.Fatal(err)
	}
	return made, each
}

func iterate(b *testing.B, kind ebpf.MapType) {
	walked, each := filled(b, kind)
	var key uint64
	var value any = new(uint64)
	if kind == ebpf.PerCPUHash {
		value = make([]uint64, each)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		count, entry := 0, walked.Iterate()
		for entry.Next(&key, value) {
			count++
		}
		if err := entry.Err(); err != nil || count != entries {
			b.Fatal(count, err)
		}
	}
}

func batchLookup(b *testing.B, kind ebpf.MapType) {
	walked, each := filled(b, kind)
	keys, values := make([]uint64, entries), make([]uint64, entries*each)
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		var cursor ebpf.MapBatchCursor
		count := 0
		for {
			found, err := walked.BatchLookup(&cursor, keys, values, nil)
			count += found
			if errors.Is(err, ebpf.ErrKeyNotExist) {
				break
			}
			if err != nil {
				b.Fatal(err)
			}
		}
		if count != entries {
			b.Fatal("entries:", count)
		}
	}
}

func BenchmarkIterateHash(b *testing.B)           { iterate(b, ebpf.Hash) }
func BenchmarkIteratePerCPUHash(b *testing.B)     { iterate(b, ebpf.PerCPUHash) }
func BenchmarkBatchLookupHash(b *testing.B)       { batchLookup(b, ebpf.Hash) }
func BenchmarkBatchLookupPerCPUHash(b *testing.B) { batchLookup(b, ebpf.PerCPUHash) }
