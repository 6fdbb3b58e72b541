// SPDX-License-Identifier: GPL-2.0-or-later

package ebpfbench

import (
	"bytes"
	"embed"
	"fmt"
	"os"
	"testing"

	"github.com/cilium/ebpf"
)

// objects has collection.bpf.o where the host that built the suite has clang, and its source in any case.
//
//go:embed collection.bpf.*
var objects embed.FS

// readObject ends the program as a skipped test of the kernel's does where there is no object.
func readObject() []byte {
	object, err := objects.ReadFile("collection.bpf.o")
	if err != nil {
		fmt.Fprintln(os.Stderr, "the host that built the suite has no clang: install clang")
		os.Exit(4)
	}
	return object
}

func parse(b *testing.B, object []byte) *ebpf.CollectionSpec {
	spec, err := ebpf.LoadCollectionSpecFromReader(bytes.NewReader(object))
	if err != nil {
		b.Fatal(err)
	}
	return spec
}

func BenchmarkParseObject(b *testing.B) {
	object := readObject()
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		parse(b, object)
	}
}

func BenchmarkLoadObject(b *testing.B) {
	object := readObject()
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		loaded, err := ebpf.NewCollection(parse(b, object))
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if len(loaded.Maps) != 8 || len(loaded.Programs) != 16 {
			b.Fatalf("%d maps and %d programs", len(loaded.Maps), len(loaded.Programs))
		}
		loaded.Close()
		b.StartTimer()
	}
}
