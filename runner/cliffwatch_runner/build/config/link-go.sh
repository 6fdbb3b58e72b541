#!/bin/sh
# Go calls its tools through this while a program is linked in a layout (-toolexec): the linker gets the layout's seed, and
# keeps the flags that the program's own build gives it.
case ${1##*/} in
  link)
    link=$1
    shift
    "$link" -randlayout=1 -V > /dev/null 2>&1 || { echo "Error: this Go has no -randlayout" >&2; exit 1; }
    exec "$link" "-randlayout=$CLIFFWATCH_LAYOUT" "$@"
    ;;
esac
exec "$@"
