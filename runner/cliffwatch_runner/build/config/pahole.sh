#!/bin/sh
# Stands for pahole while a kernel is linked again: gives vmlinux the types that it had, for padding changes none.
#
# PAHOLE and BTF are set above by who gives it to a build: the program, and the file of the types.
for word; do
  case $word in
    -J) encodes=yes ;;
    --btf_encode_detached=*) exec "$PAHOLE" "$@" ;;
  esac
done
[ -n "${encodes:-}" ] || exec "$PAHOLE" "$@"
exec objcopy --add-section ".BTF=$BTF" "$word"
