#!/usr/bin/env bash
# Prints the path of the newest kernel package of Debian's, of the line of its kernel source; fetched once, installed never.
set -euo pipefail
cache=${XDG_CACHE_HOME:-$HOME/.cache}/cliffwatch/demo-kernel

package() {
  local name line=linux-image-amd64
  if apt-cache pkgnames linux-image-6.12-amd64 2> /dev/null | grep -x linux-image-6.12-amd64 > /dev/null; then line=linux-image-6.12-amd64; fi
  name=$(apt-cache depends "$line" 2> /dev/null | sed -n 's/^ *Depends: \(linux-image-[0-9].*-amd64\)$/\1/p' | head -n 1)
  [ -n "$name" ] || {
    echo "demo: QUICK=1 finds no kernel package of Debian's here; name a kernel (docs/prebuilt.md): make demo QUICK=1 KERNEL=FILE" >&2
    exit 2
  }
  echo "$name"
}

name=$(package)
version=$(apt-cache policy "$name" | sed -n 's/^ *Candidate: //p')
file=$cache/${name}_${version//:/%3a}_amd64.deb
if [ ! -s "$file" ]; then
  mkdir -p "$cache"
  folder=$(mktemp -d "$cache/fetch-XXXXXX")
  trap 'rm -rf "$folder"' EXIT
  (cd "$folder" && apt-get -qq download "$name" 2> log >&2) || {
    cat "$folder/log" >&2
    echo "demo: $name cannot be fetched; run sudo apt-get update, or name a kernel: make demo QUICK=1 KERNEL=FILE" >&2
    exit 4
  }
  rm -f "$cache"/*.deb
  mv "$folder"/*.deb "$file"
fi
echo "$file"
