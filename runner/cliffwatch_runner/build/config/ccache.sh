#!/bin/sh
# Compiles through ccache: ccache.sh COMPILER ARGUMENTS…
#
# Asked to depend on the files that the compiler names, ccache does not preprocess a source before it compiles it, which saves
# an eighth of a first build. What it then does not see are binary files that assembly pulls in with .incbin, so a source that does is
# preprocessed.
for word; do
  case $word in
    *.c | *.S) source=$word ;;
  esac
done
if [ -n "${source:-}" ] && ! grep -qs incbin "$source"; then
  export CCACHE_DEPEND=1
fi
exec ccache "$@"
