#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Runs in the guest as root: prepares it, says what it is, refuses one that must not be measured, runs the list of cases.
# Needs a POSIX shell and the common tools (busybox will do). The host parses all that it writes as hostile input.
#
#   agent.sh INPUT RESULTS
#
# INPUT (read-only): `cases`, one line a case: name <tab> deadline by the clock <tab> CPU seconds that it may use <tab>
# program (`bench`, or SUITE/NAME) <tab> its arguments, quoted for a shell; `forbidden`, one pattern a line for lines of the
# configuration; `wanted`, one `name value` a line that the guest must show; `settings`, one file <tab> value a line, written before
# the first case; `config`, the configuration of a kernel that does not show its own; `bench`, the folder of bench and what is
# preloaded; `programs`, with a folder for each suite that has a program of its own; `data`, with the file that programs read; `profile`, where perf
# records the cases, one line a case: name <tab> milliseconds after which recording begins.
# RESULTS (written through to the host): guest/ (raw facts), cases/NAME.{out,err,status}, of a profile also cases/NAME.{perf,perf.err,counters,event}, current, refused, dmesg, done.
set -u
input=$1
results=$2
scratch=/tmp/cliffwatch
refused=""

refuse() {
  echo "$*" >> "$results/refused"
  refused=yes
}

prepare() {
  mkdir -p "$results/guest" "$results/cases" "$scratch"
  # The host's mount has a setuid bit. Where an ordinary user of the host shows the guest its root, the files of the host's root
  # belong to nobody, and so would mount run. A copy has no such bit.
  cp "$(command -v mount)" "$scratch/mount" || refuse "mount cannot be copied to $scratch"
  mountpoint -q /sys/fs/bpf || "$scratch/mount" -t bpf bpf /sys/fs/bpf || refuse "bpffs does not mount"
  ip link set lo up || ifconfig lo 127.0.0.1 up || refuse "the loopback interface does not come up"
  # shellcheck disable=SC3045 # not in POSIX, but in dash, busybox and bash alike; kernels before 5.11 need it
  ulimit -l unlimited 2> /dev/null || true
  # shellcheck disable=SC3045
  ulimit -n 65536 2> /dev/null || true
  for setting in net.core.bpf_jit_enable=1 net.core.bpf_jit_harden=0 kernel.bpf_stats_enabled=0; do
    path=/proc/sys/$(echo "${setting%%=*}" | tr . /)
    [ -e "$path" ] && echo "${setting#*=}" > "$path" 2> /dev/null
  done
}

# All facts in one go and one file, each under a line `==> path <==`: on an emulated machine every process counts.
record() {
  set --
  for path in /proc/version /proc/cmdline /proc/cpuinfo /proc/meminfo /proc/mounts /proc/stat /proc/loadavg /proc/uptime \
    /proc/sys/net/core/bpf_jit_enable /proc/sys/net/core/bpf_jit_harden /proc/sys/kernel/bpf_stats_enabled \
    /proc/sys/kernel/randomize_va_space /proc/sys/kernel/nmi_watchdog /proc/sys/kernel/tainted \
    /sys/devices/system/clocksource/clocksource0/current_clocksource /sys/kernel/mm/transparent_hugepage/enabled \
    /sys/devices/system/cpu/online /sys/devices/system/cpu/possible /sys/devices/system/node/online /sys/devices/system/cpu/smt/active /sys/bus/pci/devices/0000:00:00.0/device \
    /sys/kernel/security/lsm /sys/devices/system/cpu/vulnerabilities/*; do
    [ -r "$path" ] && set -- "$@" "$path"
  done
  head -c 65536 "$@" > "$results/guest/facts" 2> /dev/null
  # A kernel that shows its configuration is believed before the package that it came in.
  if [ -e /proc/config.gz ]; then
    zcat /proc/config.gz > "$results/guest/config"
    echo kernel > "$results/guest/config-from"
  elif [ -e "$input/config" ]; then
    cp "$input/config" "$results/guest/config"
    echo package > "$results/guest/config-from"
  fi
}

# What the arm sets itself is meant to be so.
as_ours() {
  grep -q "^$1$tab" "$input/settings" && return 0
  [ "$(cat "$1" 2> /dev/null)" = "$2" ]
}

# A setting that the kernel does not have, or takes and does not show again, is none: what is measured then is not what was asked for.
set_up() {
  while IFS=$tab read -r path value <&4; do
    if [ ! -e "$path" ]; then
      refuse "setting: this kernel has no $path"
    elif ! { printf '%s\n' "$value" > "$path"; } 2> "$scratch/refusal"; then
      refuse "setting: $path refuses '$value': $(sed 's/.*: //' "$scratch/refusal")"
    else
      # Kernels show several numbers with tabs between them, and switches as Y and N.
      shown=$(tr -s '\t\n' '  ' < "$path" 2> /dev/null | sed 's/ *$//')
      case $shown/$value in
        "$value/$value" | Y/1 | N/0 | Y/y | N/n | /*) ;;
        *) refuse "setting: $path is '$shown' after '$value' was written" ;;
      esac
    fi
  done 4< "$input/settings"
}

check() {
  as_ours /proc/sys/net/core/bpf_jit_enable 1 || refuse "the BPF JIT is not on"
  as_ours /proc/sys/net/core/bpf_jit_harden 0 || refuse "BPF JIT hardening is on"
  [ -s "$results/guest/config" ] || refuse "the kernel shows no /proc/config.gz, so its options cannot be checked"
  grep -E -x -f "$input/forbidden" "$results/guest/config" > "$scratch/found" 2> /dev/null
  while read -r symbol; do refuse "the kernel has $symbol, which makes its timings meaningless"; done < "$scratch/found"
  while read -r what value; do
    case $what in
      rootfs) found=$(awk '$2 == "/" {print $3; exit}' /proc/mounts) ;;
      machine) found=$(cat /sys/bus/pci/devices/0000:00:00.0/device 2> /dev/null) ;;
      cpus) found=$(grep -c '^processor' /proc/cpuinfo) ;;
      possible-cpus) found=$(($(sed 's/.*-//' /sys/devices/system/cpu/possible) + 1)) ;;
      numa-nodes) found=$(find /sys/devices/system/node -maxdepth 1 -name 'node[0-9]*' 2> /dev/null | wc -l | tr -d ' ') ;;
      *) refuse "this agent cannot check the guest's $what" ;;
    esac
    case $found in
      "$value") ;;
      *) refuse "the guest's $what is '$found', not '$value'" ;;
    esac
  done < "$input/wanted"
}

# Says to whoever counts what the guest executes that something begins or ends: no benchmark has the kernel run the function behind this
# file. The value, in nanoseconds, stays what it is.
mark() {
  echo 50000 > /proc/self/timerslack_ns
}

# perf around a case, in a boot whose values nobody keeps: sampling and counting begin when the warm-up is over. A guest without
# counters is sampled by its clock.
perf_around() {
  profiled=""
  [ -e "$input/profile" ] || return 0
  delay=$(awk -F "$tab" -v name="$1" '$1 == name {print $2; exit}' "$input/profile")
  if ! command -v perf > /dev/null; then
    echo "perf is not in the guest: install linux-perf where its programs come from" > "$results/cases/$1.perf.err"
    return 0
  fi
  event=cycles
  perf stat -x, -e cycles true 2>&1 | grep -q 'not supported' && event=cpu-clock
  echo "$event" > "$results/cases/$1.event"
  counted=cycles,instructions,branches,branch-misses,LLC-loads,LLC-load-misses,page-faults,context-switches
  profiled="perf stat -x, -o $scratch/$1.counters -D $delay -e $counted perf record -q -a -D $delay -F 997 -e $event -o $scratch/$1.data"
}

# What perf recorded, as text: the host reads no file of perf's own format that a guest wrote.
keep_profile() {
  [ -n "$profiled" ] || return 0
  perf report -i "$scratch/$1.data" --stdio -q --no-children -g none -F overhead,sample,dso,sym -t '|' \
    2> "$scratch/$1.report.err" | head -c 1048576 > "$results/cases/$1.perf"
  head -c 1048576 "$scratch/$1.counters" > "$results/cases/$1.counters"
  head -c 4096 "$scratch/$1.report.err" > "$results/cases/$1.perf.err"
  rm -f "$scratch/$1.data" "$scratch/$1.counters" "$scratch/$1.report.err"
}

# Output goes to memory and is copied when the case is done: writing through to the host while a case runs would be measured.
run_case() {
  name=$1 deadline=$2 busy=$3 program=$4 arguments=$5
  echo "$name" > "$results/current"
  echo "cliffwatch: case $name" > /dev/kmsg
  out=$scratch/$name.out err=$scratch/$name.err
  case $program in
    */*) home=$scratch/programs/${program%/*} ;;
    *) home=$scratch ;;
  esac
  perf_around "$name"
  eval "set -- $arguments"
  mark
  # shellcheck disable=SC2086 # no preload, no data and no perf are no words
  # shellcheck disable=SC3045 # in every shell of note
  (cd "$home" && ulimit -t "$busy" && exec $profiled timeout -k 5 "$deadline" env $preload $data "./${program##*/}" "$@") > "$out" 2> "$err" < /dev/null
  status=$?
  mark
  head -c 4194304 "$out" > "$results/cases/$name.out"
  head -c 1048576 "$err" > "$results/cases/$name.err"
  keep_profile "$name"
  echo "$status" > "$results/cases/$name.status"
  rm -f "$out" "$err" "$results/current"
}

# In memory, and read-only there: reading it does not wait for the host, and no case leaves another file to the next.
mount_data() {
  data=""
  [ -d "$input/data" ] || return 0
  mkdir "$scratch/data"
  "$scratch/mount" -t tmpfs tmpfs "$scratch/data" || refuse "the guest's folder of data does not mount"
  cp "$input"/data/* "$scratch/data" || refuse "the guest's data cannot be copied to $scratch/data"
  "$scratch/mount" -o remount,ro "$scratch/data" || refuse "the guest's folder of data stays writable"
  data=CLIFFWATCH_DATA=$(echo "$scratch"/data/*)
}

tab=$(printf '\t')
mark
prepare
set_up
record
check
mount_data
if [ -z "$refused" ]; then
  cp "$input"/bench/* "$scratch"
  [ -d "$input/programs" ] && cp -r "$input/programs" "$scratch"
  preload=""
  [ -e "$scratch/fixed_seed.so" ] && preload="LD_PRELOAD=$scratch/fixed_seed.so"
  # By processor time: the clock of a guest that waits for a busy host leaps ahead.
  # shellcheck disable=SC3045 # in every shell of note
  [ ! -e "$scratch/bench" ] || (cd "$scratch" && ulimit -t 60 && exec timeout -k 5 1000000 env $preload ./bench -l) > "$results/bench-list" 2> "$results/bench-list.err" < /dev/null
  # What the start left behind ends within seconds (udev lets idle workers go after three) and would be measured with the
  # first case. A guest that counts instructions sleeps in no time.
  sleep 10
  # The list comes in on descriptor 3: a benchmark that reads its standard input must not eat it.
  while IFS=$tab read -r name deadline busy program arguments <&3; do
    run_case "$name" "$deadline" "$busy" "$program" "$arguments"
  done 3< "$input/cases"
fi
cat /proc/stat > "$results/guest/stat-after"
dmesg > "$results/dmesg" 2> /dev/null
sync
echo finished > "$results/done"
[ -z "$refused" ] || exit 65
