// SPDX-License-Identifier: GPL-2.0-or-later

package ebpfbench

import (
	"errors"
	"os"
	"sync"
	"testing"

	"github.com/cilium/ebpf"
)

const (
	walkedMaps     = 1000
	walkedPrograms = 2000
)

var manyObjects = sync.OnceValue(func() error {
	for i := range walkedMaps {
		spec := &ebpf.MapSpec{Name: nameOf(i), Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1}
		made, err := ebpf.NewMap(spec)
		if err != nil {
			return err
		}
		kept = append(kept, made)
	}
	for i := range walkedPrograms {
		made, err := ebpf.NewProgram(passing(nameOf(i)))
		if err != nil {
			return err
		}
		kept = append(kept, made)
	}
	return nil
})

var kept []any

func walkMaps(b *testing.B, visit func(*ebpf.Map)) int {
	count := 0
	for id := ebpf.MapID(0); ; {
		next, err := ebpf.MapGetNextID(id)
		if errors.Is(err, os.ErrNotExist) {
			return count
		}
		if err != nil {
			b.Fatal(err)
		}
		id = next
		opened, err := ebpf.NewMapFromID(id)
		if err != nil {
			b.Fatal(err)
		}
		visit(opened)
		opened.Close()
		count++
	}
}

func walkPrograms(b *testing.B, visit func(*ebpf.Program)) int {
	count := 0
	for id := ebpf.ProgramID(0); ; {
		next, err := ebpf.ProgramGetNextID(id)
		if errors.Is(err, os.ErrNotExist) {
			return count
		}
		if err != nil {
			b.Fatal(err)
		}
		id = next
		opened, err := ebpf.NewProgramFromID(id)
		if err != nil {
			b.Fatal(err)
		}
		visit(opened)
		opened.Close()
		count++
	}
}

func walked(b *testing.B, visitMap func(*ebpf.Map), visitProgram func(*ebpf.Program)) {
	if err := manyObjects(); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		maps, programs := walkMaps(b, visitMap), walkPrograms(b, visitProgram)
		if maps < walkedMaps || programs < walkedPrograms {
			b.Fatalf("%d maps and %d programs were there", maps, programs)
		}
	}
}

// BenchmarkWalkOpen opens every object and asks nothing but what an open one knows: its type.
func BenchmarkWalkOpen(b *testing.B) {
	types := 0
	walked(b, func(each *ebpf.Map) { types += int(each.Type()) }, func(each *ebpf.Program) { types += int(each.Type()) })
}

// BenchmarkWalkNames is what an endpoint of metrics does: it asks every object for its name, and those that it wants for their memory and maps.
func BenchmarkWalkNames(b *testing.B) {
	memory, used := uint64(0), 0
	walked(b,
		func(each *ebpf.Map) {
			info, err := each.Info()
			if err != nil {
				b.Fatal(err)
			}
			if hasPrefix(info.Name) {
				bytes, _ := info.Memlock()
				memory += bytes
			}
		},
		func(each *ebpf.Program) {
			info, err := each.Info()
			if err != nil {
				b.Fatal(err)
			}
			if hasPrefix(info.Name) {
				maps, _ := info.MapIDs()
				used += len(maps)
			}
		})
	if memory == 0 {
		b.Fatal("no map has memory")
	}
}
