#!/usr/bin/env bash
# README's two commands on bare machines: fresh containers of Debian, as root and as an ordinary user with sudo, each in a fresh clone and an
# empty home. What Docker forbids in a container (namespaces) is left out there: ISOLATION=none, which the results say.
#
#   tools/fresh_machine_test.sh [IMAGE[:root|:user]…]     default: debian:bookworm-slim and debian:trixie-slim, both users each
#
# COMMANDS are run one after the other (default: make demo, then make test). Hours on two cores: each begins with an empty cache.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- debian:bookworm-slim:root debian:bookworm-slim:user debian:trixie-slim:root debian:trixie-slim:user
commands=${COMMANDS:-make demo && make test}
bundle=$(mktemp -d); trap 'rm -rf "$bundle"' EXIT
git bundle create --quiet "$bundle/checkout" HEAD
chmod -R a+rX "$bundle"

# What README asks of a machine before its two commands: git, make and, for an ordinary user, sudo.
prepare='apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install --no-install-recommends git make sudo > /dev/null
  useradd --create-home --shell /bin/bash somebody
  echo "somebody ALL=(ALL) NOPASSWD: ALL" > /etc/sudoers.d/somebody'
# Without isolation a tree's code is another user's than root, so that root's checkout has to lie where others get to.
begin="if [ \"\$(id -u)\" = 0 ]; then cd /srv; else cd; fi && git clone --quiet /bundle/checkout cliffwatch && cd cliffwatch && export ISOLATION=none && $commands"

failed=0
for machine; do
  image=${machine%:*} user=${machine##*:}
  begun=$SECONDS log=results/fresh-machine-$(tr -c 'a-z0-9\n' - <<< "$machine").log
  mkdir -p results
  as=(bash -lc); [ "$user" = root ] || as=(runuser -u somebody -- env HOME=/home/somebody bash -c)
  if docker run --rm --init --volume "$bundle:/bundle:ro" "$image" bash -euc "$prepare; exec \"\$@\"" sh "${as[@]}" "$begin" > "$log" 2>&1
  then result=passed; else result=FAILED; failed=1; fi
  printf '%-30s %-7s %5d s  %s\n' "$machine" "$result" "$((SECONDS - begun))" "$log"
done
exit "$failed"
