// SPDX-License-Identifier: GPL-2.0-or-later

//go:build !program_stats

package ebpfbench

import (
	"errors"

	"github.com/cilium/ebpf"
)

// readStats asks the program's info: before v0.19 there was no other way.
func readStats(program *ebpf.Program) error {
	info, err := program.Info()
	if err != nil {
		return err
	}
	if _, known := info.RunCount(); !known {
		return errors.New("the runs of the program are not known")
	}
	return nil
}
