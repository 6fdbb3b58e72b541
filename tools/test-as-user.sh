#!/usr/bin/env bash
# Runs the tests that depend on who runs them as an ordinary user. Root gets one for it, with a home of its own in which a copy
# of this checkout, its virtual environment and its kernels stay for the next time; nothing in there is root's.
# TEST_USER names another user; arguments go to pytest, instead of the tests that are named here.
set -euo pipefail
cd "$(dirname "$0")/.."
# What is asked of the service over HTTP is the same whoever runs it, once its PostgreSQL runs (test_embedded.py).
http=(authorisation.py bodies.py odd_documents.py private_service.py provenance.py slow_clients.py)
[ $# -gt 0 ] || set -- -n 2 -m "not long" tests/hostile "${http[@]/#/--ignore-glob=*/hostile/test_}" tests/installation tests/kernel \
  tests/service/test_{embedded,database}.py tests/runner/test_{host_lock,process,install_packages,cache,users_and_folders,builder,counting_plugin,code_digests}.py
[ "$(id -u)" = 0 ] || exec .venv/bin/pytest "$@"

user=${TEST_USER:-cliffwatch-ci}
id "$user" > /dev/null 2>&1 || useradd --create-home --shell /bin/bash "$user"
home=$(getent passwd "$user" | cut -d: -f6)
copy=$home/cliffwatch

# Root's environment without what names places of root's: proxies and registries stay, and so does PATH.
as_user() {
  runuser -u "$user" -- env --chdir="$home" -u MAKEFLAGS -u MAKELEVEL -u TMPDIR -u PIP_CACHE_DIR -u UV_CACHE_DIR -u VIRTUAL_ENV \
    -u XDG_CACHE_HOME -u XDG_CONFIG_HOME -u XDG_DATA_HOME -u XDG_RUNTIME_DIR HOME="$home" USER="$user" LOGNAME="$user" "$@"
}

as_user mkdir -p "$copy"
as_user find "$copy" -mindepth 1 -maxdepth 1 ! -name .venv -exec rm -rf {} +
git ls-files -z --cached --others --exclude-standard | tar -c --null --ignore-failed-read -T - | as_user tar -x -C "$copy"
[ -z "${REAL_KERNEL_RESULTS:-}" ] || install -d -o "$user" "$REAL_KERNEL_RESULTS/$user"
as_user make --no-print-directory -C "$copy" setup
as_user env --chdir="$copy" .venv/bin/pytest "$@"
