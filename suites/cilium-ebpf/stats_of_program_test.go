// SPDX-License-Identifier: GPL-2.0-or-later

//go:build program_stats

package ebpfbench

import "github.com/cilium/ebpf"

// readStats asks the program itself, which can be since v0.19.
func readStats(program *ebpf.Program) error {
	_, err := program.Stats()
	return err
}
