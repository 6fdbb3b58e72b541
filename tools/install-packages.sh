#!/usr/bin/env bash
# Installs the Debian or Ubuntu packages of the named groups that are missing, and says which. Does nothing when none is.
set -euo pipefail

group() {
  case $1 in
    python) echo python3 python3-venv git ca-certificates ;;
    kernel) echo build-essential bc flex bison libelf-dev libssl-dev zlib1g-dev dwarves ccache cpio rsync kmod xz-utils \
                 zstd lz4 bubblewrap "$(clang)" "$(clang | sed s/clang/llvm/)" "$(clang | sed s/clang/lld/)" ;;
    guest) echo qemu-system-x86 udev iproute2 util-linux procps ;;
    source) kernel_source ;;
    perf) perf ;;
    lint) echo shellcheck ;;
    proxy) echo nginx openssl ;;
    units) echo systemd locales ;;
    browser) browser ;;
    *) echo "install-packages: no group '$1'; there are: python kernel guest source perf lint browser proxy units" >&2; exit 2 ;;
  esac
}

# All of the list is read: apt-cache would otherwise fail on a closed pipe now and then, and the package count as not offered.
offered() { apt-cache pkgnames "$1" 2> /dev/null | grep -x "$1" > /dev/null; }

# The newest clang of the distribution that the selftests of current kernels build with; clang-19 where it is offered.
clang() { offered clang-19 && echo clang-19 || echo clang; }

# Debian names its kernel sources by version (linux-source-6.12); the newest of the 6.12 line, else what the distribution has.
kernel_source() {
  offered linux-source-6.12 && echo linux-source-6.12 || echo linux-source
}

# What `cliffwatch run --perf-profile` records with; Ubuntu has it beside its kernels.
perf() { offered linux-perf && echo linux-perf || echo linux-tools-generic; }

# Ubuntu's chromium is a snap and cannot be driven; whoever has another one of its family is left alone.
browser() {
  if command -v google-chrome > /dev/null; then echo fonts-dejavu-core; else echo chromium-headless-shell fonts-dejavu-core; fi
}

installed() { dpkg-query -W -f '${db:Status-Abbrev}' "$1" 2> /dev/null | grep -q '^ii'; }

missing() {
  local package
  for package in $(for name in "$@"; do group "$name"; done); do installed "$package" || printf '%s ' "$package"; done
}

command -v apt-get > /dev/null || { echo "install-packages: no apt-get here; see README.md for what is needed" >&2; exit 0; }
as_root=(); [ "$(id -u)" = 0 ] || as_root=(sudo)
# sudo drops the proxies of the user's environment, which apt follows.
proxies=(); for name in http_proxy https_proxy no_proxy; do [ -z "${!name:-}" ] || proxies+=("$name=${!name}"); done
apt() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive "${proxies[@]}" apt-get -qq -o DPkg::Lock::Timeout=600 -o Acquire::Retries=3 "$@"; }

if [ -z "$(missing "$@")" ]; then exit 0; fi
if [ "${#as_root[@]}" -gt 0 ] && ! { command -v sudo > /dev/null && sudo -v; }; then
  echo "install-packages: packages are missing and this user cannot install them; root must run" >&2
  echo "  apt-get install --no-install-recommends $(missing "$@")" >&2
  exit 4
fi
exec 9< "$0"   # this script is the lock: no file of one user is in another's way
flock 9
for attempt in 1 2 3; do
  apt update || true   # an old list serves as well, as long as the packages are there
  read -ra wanted <<< "$(missing "$@")"
  [ "${#wanted[@]}" -gt 0 ] || exit 0
  echo "Installing from this distribution: ${wanted[*]}"
  if apt install --no-install-recommends "${wanted[@]}" > /dev/null; then exit 0; fi
  echo "install-packages: attempt $attempt of 3 failed" >&2
done
echo "install-packages: could not install: $(missing "$@")" >&2
echo "  What apt-get says above is why. A proxy is named by http_proxy=http://HOST:PORT; then give the same command again." >&2
exit 4
