#!/usr/bin/env bash
# `install-python.sh VENV PYTHON`: makes the virtual environment; installs the pinned packages and this repository into it.
# pip fetches uv, uv fetches the rest.
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/package_settings.sh
venv=$1 python=$2
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# Runs a step of setup; where it fails, says which and what to do. Told to be quiet, pip would not name a refused certificate.
step() {
  local name=$1; shift
  echo "setup: $name"
  if "$@" > "$log" 2>&1; then return; fi
  { tail -n 40 "$log"; echo; echo "setup: $name failed"; way_out; } >&2
  exit 4
}

way_out() {
  if grep -qiE 'certificate.?verify.?failed|UnknownIssuer|self.signed certificate|invalid peer certificate' "$log"; then
    echo "  The package index, or a TLS proxy before it, has a certificate that this machine does not trust."
    echo "  Ask whoever runs the proxy for its authority's certificate, then trust it:"
    echo "    sudo cp AUTHORITY.crt /usr/local/share/ca-certificates/ && sudo update-ca-certificates"
    echo "  or for this shell alone: export SSL_CERT_FILE=/path/to/AUTHORITY.crt   (sudo and su - drop it)"
  elif grep -qiE 'hashes? (mismatch|do not match)|THESE PACKAGES DO NOT MATCH' "$log"; then
    echo "  The index served another file than the one pinned in requirements/. Use another index: PIP_INDEX_URL=URL"
  elif grep -qiE 'proxy|tunnel|connect|resolve|dns|timed out|unreachable|No matching distribution|not found in the' "$log"; then
    echo "  The package index cannot be reached, or lacks a package. A proxy is named by https_proxy=http://HOST:PORT, another"
    echo "  index by PIP_INDEX_URL=URL or in pip.conf (uv follows it too)."
  fi
  echo "  Then give the same command again."
}

step "making $venv (python3-venv)" "$python" -m venv "$venv"
share_settings "$venv/bin/pip"
step "fetching uv with pip" "$venv/bin/pip" install --disable-pip-version-check --require-hashes -r requirements/setup.txt
step "fetching packages with uv" "$venv/bin/uv" pip install --compile-bytecode --python "$venv/bin/python" --require-hashes \
  -r requirements/dev.txt -r requirements/dashboards.txt
step "installing this repository" "$venv/bin/uv" pip install --python "$venv/bin/python" --no-deps --no-build-isolation \
  -e . -e runner -e service
