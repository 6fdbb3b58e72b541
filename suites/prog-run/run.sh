#!/bin/sh
# Runs the programs of one object: run.sh OBJECT MILLISECONDS [--configuration NAME] [--input NAME]
#
# The object lies in an archive, that of the user's (CLIFFWATCH_DATA, with configurations and inputs) or that of the tree's selftests,
# whose inputs lie beside this script. `unbuilt` says of objects that the archive lacks why it does, after a tab. Ends with 4, the
# reason on standard error, where the object or prog-run is not there.
set -u
object=$1 milliseconds=$2
shift 2
configuration="" input=""
while [ $# -ge 2 ]; do
  case $1 in
    --configuration) configuration=recorded/$2/ ;;
    --input) input=$2 ;;
  esac
  shift 2
done
archive=${CLIFFWATCH_DATA:-objects.tar} home=$PWD
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

if ! tar -xf "$archive" -C "$scratch" --occurrence=1 "$configuration$object" 2> /dev/null; then
  tab=$(printf '\t')
  reason=$(grep "^$object$tab" unbuilt 2> /dev/null | head -n 1 | cut -f 2)
  echo "${reason:-this tree has no $object}" >&2
  exit 4
fi
if ! [ -s prog-run ]; then
  echo "this tree's libbpf does not build prog-run" >&2
  exit 4
fi
set --
for kind in data ctx; do
  file=
  if [ -z "${CLIFFWATCH_DATA:-}" ]; then
    file=$home/$input.$kind
  elif tar -xf "$archive" -C "$scratch" --occurrence=1 "inputs/$object/$input.$kind" 2> /dev/null; then
    file=$scratch/inputs/$object/$input.$kind
  fi
  if [ -f "$file" ]; then set -- "$@" "--$kind" "$file"; fi
done
cd "$scratch/$configuration" && "$home/prog-run" "$object" "$milliseconds" "$@"
