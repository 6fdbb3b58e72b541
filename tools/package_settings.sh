# shellcheck shell=bash
# To be read by scripts that call uv. It reads neither pip's settings nor the system's certificates unless it is told to, and pip does not read
# uv's: `share_settings` gives each the other's, so that both reach what one of them reaches.

# A setting of pip's, from its environment or its files, on one line; empty where there is none.
pip_setting() {
  local scope value
  for scope in :env: install global; do
    value=$(sed -n "s/^$scope\.$1='\(.*\)'\$/\1/p" <<< "$pip_settings" | sed 's/\\n/ /g; s/^ *//')
    if [ -n "$value" ]; then echo "$value"; return; fi
  done
}

# Sets a variable unless it or another of the same meaning is set: `default NAME VALUE [OTHER]`.
default() {
  local other=${3:-}
  if [ -n "$2" ] && [ -z "${!1:-}" ] && { [ -z "$other" ] || [ -z "${!other:-}" ]; }; then export "$1=$2"; fi
}

# `share_settings PIP`, before uv is called.
share_settings() {
  pip_settings=$("$1" config list || true)
  default UV_DEFAULT_INDEX "$(pip_setting index-url)" UV_INDEX_URL
  default UV_INDEX "$(pip_setting extra-index-url)" UV_EXTRA_INDEX_URL
  default UV_INSECURE_HOST "$(pip_setting trusted-host)"
  default HTTPS_PROXY "$(pip_setting proxy)" https_proxy
  default HTTP_PROXY "$(pip_setting proxy)" http_proxy
  default UV_SYSTEM_CERTS true
  if [ -z "$(pip_setting index-url)" ]; then default PIP_INDEX_URL "${UV_DEFAULT_INDEX:-${UV_INDEX_URL:-}}"; fi
  if [ -n "$(pip_setting cert)" ]; then default SSL_CERT_FILE "$(pip_setting cert)"; else default PIP_CERT "${SSL_CERT_FILE:-}"; fi
}
