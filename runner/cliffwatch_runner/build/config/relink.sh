#!/bin/sh
# Prepares a built kernel for a link with other objects in vmlinux.a.
#
# relink.sh copy BUILD           copies its objects, without debug information, and lists them: layouts/objects, layouts/members
# relink.sh functions BUILD      lists the functions of the copies, with their sections: layouts/functions
# relink.sh archive BUILD LIST   makes vmlinux.a of the objects that LIST names, in its order
#
# make takes the archive as it is, because it is newer than what it is made of.
set -eu
cd "$2"
case $1 in
  copy)
    rm -rf layouts
    mkdir -p layouts/objects
    ar t vmlinux.a > layouts/members
    xargs -r cp --parents -t layouts/objects -- < layouts/members
    cd layouts/objects
    xargs -r strip --strip-debug -- < ../members
    ;;
  functions)
    cd layouts/objects
    xargs -r nm -A -n -f sysv --defined-only -- < ../members | grep -E '\|   [tT]  \|' > ../functions
    ;;
  archive)
    rm -f vmlinux.a
    ar cDPqST vmlinux.a "@$3"
    ;;
esac
