// SPDX-License-Identifier: GPL-2.0-or-later

package ebpfbench

import (
	"os"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"unsafe"
)

// Whatever of Go's runtime depends on time is settled before anything is measured, so that a benchmark executes and allocates the same in every
// boot: no collection, one processor, all threads started, the heap in use once, and nobody who interrupts.
func TestMain(m *testing.M) {
	settings := []string{"GOGC=off", "GOMAXPROCS=1", "GODEBUG=asyncpreemptoff=1"}
	if os.Getenv("GOGC") != "off" {
		panic(syscall.Exec("/proc/self/exe", os.Args, append(os.Environ(), settings...)))
	}
	startThreads(8)
	useHeap(128 << 20)
	takePrecedence()
	os.Exit(m.Run())
}

// startThreads makes the runtime start threads: each goroutine that waits in the kernel takes one.
func startThreads(count int) {
	var ends [2]int
	if err := syscall.Pipe(ends[:]); err != nil {
		panic(err)
	}
	done := make(chan bool)
	for range count {
		go func() {
			syscall.Read(ends[0], make([]byte, 1))
			done <- true
		}()
	}
	for range count {
		runtime.Gosched()
		syscall.Nanosleep(&syscall.Timespec{Nsec: 20e6}, nil)
	}
	syscall.Write(ends[1], make([]byte, count))
	for range count {
		<-done
	}
	syscall.Close(ends[0])
	syscall.Close(ends[1])
}

// useHeap makes the heap one of memory that was in use before: fresh memory costs page faults, and is not cleared.
func useHeap(bytes int) {
	const piece = 1 << 20
	used := make([][]byte, bytes/piece)
	for i := range used {
		used[i] = make([]byte, piece)
		for place := 0; place < piece; place += os.Getpagesize() {
			used[i][place] = 1
		}
	}
	runtime.KeepAlive(used)
	used = nil
	runtime.GC()
	runtime.GC()
}

// takePrecedence lets the benchmark's threads run before all others, and the runtime's monitor, the first thread beside the main one, after them.
func takePrecedence() {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		panic(err)
	}
	ids := make([]int, len(threads))
	for i, thread := range threads {
		ids[i], _ = strconv.Atoi(thread.Name())
	}
	slices.Sort(ids)
	const schedFIFO, schedIdle = 1, 5
	for i, id := range ids {
		if i == 1 {
			schedule(id, schedIdle, 0)
		} else {
			schedule(id, schedFIFO, 1)
		}
	}
}

func schedule(thread int, policy uintptr, priority int32) {
	_, _, failed := syscall.RawSyscall(
		syscall.SYS_SCHED_SETSCHEDULER, uintptr(thread), policy, uintptr(unsafe.Pointer(&priority)))
	if failed != 0 {
		panic(failed)
	}
}
