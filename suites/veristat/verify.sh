#!/bin/sh
# Lets veristat verify the programs of one object: verify.sh OBJECT [--configuration NAME]
#
# The object lies in an archive, that of the user's (CLIFFWATCH_DATA) or that of the tree's selftests. `unbuilt` says of objects that
# the archive lacks why it does, after a tab. Ends with 4, the reason on standard error, where the object is not there.
set -u
object=$1
configuration=
if [ $# -eq 3 ]; then configuration=recorded/$3/; fi
archive=${CLIFFWATCH_DATA:-objects.tar}
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

if ! tar -xf "$archive" -C "$scratch" --occurrence=1 "$configuration$object" 2> /dev/null; then
  tab=$(printf '\t')
  reason=$(grep "^$object$tab" unbuilt 2> /dev/null | head -n 1 | cut -f 2)
  echo "${reason:-this tree has no $object}" >&2
  exit 4
fi

# veristats know different columns, and the first one that they do not know ends them.
spec=file,prog,verdict,insns,states,peak_states,duration
LD_PRELOAD="$PWD/sizes.so${LD_PRELOAD:+:$LD_PRELOAD}"
export LD_PRELOAD
./veristat -v -l 4 -o csv -e "$spec" "$scratch/$configuration$object" > "$scratch/said" 2>&1
status=$?
# Where a program fails with another one, libbpf shows all that the verifier saw of that: megabytes, of which the last words count.
grep -a -v -E '^[0-9]+: |^; |^from [0-9]+ to ' "$scratch/said"
exit $status
