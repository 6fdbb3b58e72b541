// SPDX-License-Identifier: GPL-2.0-or-later

package ebpfbench

import (
	"os"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/perf"
	"github.com/cilium/ebpf/ringbuf"
)

const (
	records    = 100
	recordSize = 64
)

// writing sends a fixed number of records by call in each of its runs.
func writing(b *testing.B, kind ebpf.ProgramType, send asm.Instructions) *ebpf.Program {
	b.Helper()
	program := asm.Instructions{asm.Mov.Reg(asm.R6, asm.R1), asm.Mov.Imm(asm.R0, 0)}
	for offset := int16(8); offset <= recordSize; offset += 8 {
		program = append(program, asm.StoreMem(asm.RFP, -offset, asm.R0, asm.DWord))
	}
	for range records {
		program = append(program, send...)
	}
	program = append(program, asm.Mov.Imm(asm.R0, 0), asm.Return())
	return newProgram(b, &ebpf.ProgramSpec{Name: "writing", Type: kind, License: "GPL", Instructions: program})
}

func BenchmarkRingbufReader(b *testing.B) {
	ring := newMap(b, &ebpf.MapSpec{Name: "ring", Type: ebpf.RingBuf, MaxEntries: 1 << 16})
	program := writing(b, ebpf.SocketFilter, asm.Instructions{
		asm.LoadMapPtr(asm.R1, ring.FD()),
		asm.Mov.Reg(asm.R2, asm.RFP),
		asm.Add.Imm(asm.R2, -recordSize),
		asm.Mov.Imm(asm.R3, recordSize),
		asm.Mov.Imm(asm.R4, 0),
		asm.FnRingbufOutput.Call(),
	})
	reader, err := ringbuf.NewReader(ring)
	if err != nil {
		b.Fatal(err)
	}
	defer reader.Close()
	b.ReportAllocs()
	b.ResetTimer()
	var record ringbuf.Record
	for range b.N {
		run(b, program)
		for range records {
			if err := reader.ReadInto(&record); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkPerfReader(b *testing.B) {
	events := newMap(b, &ebpf.MapSpec{Name: "events", Type: ebpf.PerfEventArray})
	program := writing(b, ebpf.SchedCLS, asm.Instructions{
		asm.Mov.Reg(asm.R1, asm.R6),
		asm.LoadMapPtr(asm.R2, events.FD()),
		asm.LoadImm(asm.R3, 0xffffffff, asm.DWord), // the CPU that it runs on
		asm.Mov.Reg(asm.R4, asm.RFP),
		asm.Add.Imm(asm.R4, -recordSize),
		asm.Mov.Imm(asm.R5, recordSize),
		asm.FnPerfEventOutput.Call(),
	})
	reader, err := perf.NewReader(events, 8*os.Getpagesize())
	if err != nil {
		b.Fatal(err)
	}
	defer reader.Close()
	b.ReportAllocs()
	b.ResetTimer()
	var record perf.Record
	for range b.N {
		run(b, program)
		for range records {
			if err := reader.ReadInto(&record); err != nil {
				b.Fatal(err)
			}
			if record.LostSamples != 0 {
				b.Fatal("records were lost")
			}
		}
	}
}
