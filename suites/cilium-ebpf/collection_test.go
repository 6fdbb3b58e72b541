// SPDX-License-Identifier: GPL-2.0-or-later

package ebpfbench

import (
	"fmt"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
)

// collection has maps and programs of which each uses all maps.
func collection(maps, programs int) *ebpf.CollectionSpec {
	spec := &ebpf.CollectionSpec{Maps: map[string]*ebpf.MapSpec{}, Programs: map[string]*ebpf.ProgramSpec{}}
	lookups := asm.Instructions{}
	for i := range maps {
		name := fmt.Sprintf("map_%d", i)
		spec.Maps[name] = &ebpf.MapSpec{Name: name, Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 4}
		lookups = append(lookups,
			asm.StoreImm(asm.RFP, -4, 0, asm.Word),
			asm.LoadMapPtr(asm.R1, 0).WithReference(name),
			asm.Mov.Reg(asm.R2, asm.RFP),
			asm.Add.Imm(asm.R2, -4),
			asm.FnMapLookupElem.Call(),
		)
	}
	for i := range programs {
		program := passing(fmt.Sprintf("program_%d", i))
		program.Instructions = append(append(asm.Instructions{}, lookups...), program.Instructions...)
		spec.Programs[program.Name] = program
	}
	return spec
}

func BenchmarkLoadCollection(b *testing.B) {
	spec := collection(8, 16)
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		loaded, err := ebpf.NewCollection(spec)
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		loaded.Close()
		b.StartTimer()
	}
}
