// SPDX-License-Identifier: GPL-2.0-or-later

// Package ebpfbench measures what a user of github.com/cilium/ebpf pays for its calls, by its public API alone: the same files build with every
// version of the library from v0.17 on.
package ebpfbench

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
)

// zeroSeed is BPF_F_ZERO_SEED: a hash map with it has its entries in the same buckets in every boot.
const zeroSeed = 1 << 6

func newMap(tb testing.TB, spec *ebpf.MapSpec) *ebpf.Map {
	tb.Helper()
	if spec.Type == ebpf.Hash || spec.Type == ebpf.PerCPUHash {
		spec.Flags |= zeroSeed
	}
	made, err := ebpf.NewMap(spec)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { made.Close() })
	return made
}

func smallMap(tb testing.TB) *ebpf.Map {
	tb.Helper()
	return newMap(tb, &ebpf.MapSpec{Name: "small", Type: ebpf.Hash, KeySize: 4, ValueSize: 8, MaxEntries: 16})
}

// passing is the least that a program can be: it returns 0.
func passing(name string) *ebpf.ProgramSpec {
	return &ebpf.ProgramSpec{
		Name:         name,
		Type:         ebpf.SocketFilter,
		License:      "GPL",
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()},
	}
}

func newProgram(tb testing.TB, spec *ebpf.ProgramSpec) *ebpf.Program {
	tb.Helper()
	made, err := ebpf.NewProgram(spec)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { made.Close() })
	return made
}

// duplicates are n further descriptors of fd, which opening takes over.
func duplicates(b *testing.B, fd int) []int {
	b.Helper()
	made := make([]int, b.N)
	for i := range made {
		duplicate, err := syscall.Dup(fd)
		if err != nil {
			b.Fatal(err)
		}
		syscall.CloseOnExec(duplicate)
		made[i] = duplicate
	}
	return made
}

type pinned interface {
	Pin(string) error
	Unpin() error
}

// pin pins an object in a folder of its own and returns the path.
func pin(b *testing.B, object pinned) string {
	b.Helper()
	folder, err := os.MkdirTemp("/sys/fs/bpf", "bench-")
	if err != nil {
		b.Fatal(err)
	}
	path := filepath.Join(folder, "object")
	if err := object.Pin(path); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		object.Unpin()
		os.Remove(folder)
	})
	return path
}

// emptyFrame is what a program is given that looks at no byte of it.
var emptyFrame = make([]byte, 14)

func run(b *testing.B, program *ebpf.Program) {
	if _, err := program.Run(&ebpf.RunOptions{Data: emptyFrame}); err != nil {
		b.Fatal(err)
	}
}

// closer closes objects after the clock stopped, and keeps them until then.
type closer[T interface{ Close() error }] struct {
	open []T
}

func opening[T interface{ Close() error }](b *testing.B) *closer[T] {
	kept := &closer[T]{open: make([]T, 0, b.N)}
	b.Cleanup(func() {
		for _, each := range kept.open {
			each.Close()
		}
	})
	return kept
}

func (kept *closer[T]) take(b *testing.B, object T, err error) {
	if err != nil {
		b.Fatal(err)
	}
	kept.open = append(kept.open, object)
}

func hasPrefix(name string) bool { return strings.HasPrefix(name, "wanted_") }

// names gives every tenth object the prefix that the walk looks for.
func nameOf(i int) string {
	if i%10 == 0 {
		return fmt.Sprintf("wanted_%d", i)
	}
	return fmt.Sprintf("other_%d", i)
}
