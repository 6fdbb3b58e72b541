#!/usr/bin/env bash
# Runs a command in a copy of this checkout as an ordinary user with a home of his own, who is made where root has none yet (TEST_USER names
# another one). His virtual environment, programs and caches stay for the next time; nothing in there is root's. Who is no root runs it here.
#
#   tools/as-user.sh COMMAND…
set -euo pipefail
cd "$(dirname "$0")/.."
[ "$(id -u)" = 0 ] || exec "$@"

user=${TEST_USER:-cliffwatch-ci}
id "$user" > /dev/null 2>&1 || useradd --create-home --shell /bin/bash "$user"
home=$(getent passwd "$user" | cut -d: -f6)
copy=$home/cliffwatch

# Root's environment without what names places of root's: proxies and registries stay, and so does PATH.
as_user() {
  runuser -u "$user" -- env --chdir="$home" -u MAKEFLAGS -u MAKELEVEL -u TMPDIR -u PIP_CACHE_DIR -u UV_CACHE_DIR -u VIRTUAL_ENV \
    -u XDG_CACHE_HOME -u XDG_CONFIG_HOME -u XDG_DATA_HOME -u XDG_RUNTIME_DIR HOME="$home" USER="$user" LOGNAME="$user" "$@"
}

# A clone with what is not committed over it.
fresh=$(mktemp -d); trap 'rm -rf "$fresh"' EXIT
git clone --quiet --depth 1 "file://$PWD" "$fresh/cliffwatch"
git ls-files -z --cached --others --exclude-standard | tar -c --null --ignore-failed-read -T - | tar -x -C "$fresh/cliffwatch"
as_user mkdir -p "$copy"
as_user find "$copy" -mindepth 1 -maxdepth 1 ! -name .venv -exec rm -rf {} +
tar -c -C "$fresh/cliffwatch" . | as_user tar -x --no-same-owner -C "$copy"
as_user env --chdir="$copy" "$@"
