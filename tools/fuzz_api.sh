#!/usr/bin/env bash
# Sends valid and broken requests to a service of its own: schemathesis, from the API's own description, for SECONDS (default 600),
# with a token of each scope in turn. Ends with 1 if it finds a server error or an answer that the description does not allow.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-600}
bin=.venv/bin
folder=$(mktemp -d)
export CLIFFWATCH_DATA_DIR=$folder CLIFFWATCH_REQUESTS_PER_MINUTE=1000000
unset DATABASE_URL
"$bin/cliffwatch" serve --port 0 2> "$folder/log" &
serving=$!
trap 'kill $serving; wait $serving || true; rm -rf "$folder"' EXIT
until grep -q "Cliffwatch at" "$folder/log"; do
  kill -0 "$serving" || { cat "$folder/log"; exit 1; }
  sleep 0.2
done
url=$(sed -n 's/^Cliffwatch at \(http:[^,]*\),.*/\1/p' "$folder/log")
status=0
for scope in admin work upload triage read; do
  token=$("$bin/cliffwatch" token make "fuzzer $scope" --scope "$scope" 2> /dev/null)
  echo "with scope $scope:"
  "$bin/schemathesis" run "$url/api/v1/openapi.json" --header "Authorization: Bearer $token" --workers 2 --max-time "$((seconds / 5))" \
    --checks not_a_server_error,content_type_conformance,response_schema_conformance,status_code_conformance \
    --exclude-path-regex "(/stream|boots/\{number\}/raw)\$" --mode all --phases coverage,fuzzing,stateful --max-failures 30 --continue-on-failure --no-color || status=$?
done
echo "server errors in the log: $(grep -c '"status": 5' "$folder/log" || true)"
grep '"unforeseen"' "$folder/log" | head -5 || true
cp "$folder/log" "${FUZZ_LOG:-/dev/null}"
exit "$status"
