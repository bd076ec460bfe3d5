#!/bin/sh
# Tries the daemon with the clients that people use, from npm; with a folder as
# its argument, with those of that folder. Where npm is
# missing they are left out; sdk/toolchains.sh installs it in CI.
set -eu
cd "$(dirname "$0")"
if ! command -v npm >/dev/null 2>&1; then
	echo "npm is not found: the clients of npm are not tried"
	[ "${CI:-}" != true ]
	exit
fi
# What is installed already is taken as long as the lock file is older.
for dir in . ${1:-}; do
	if [ ! "$dir/node_modules/.package-lock.json" -nt "$dir/package-lock.json" ]; then
		(cd "$dir" && npm ci --no-audit --no-fund --loglevel=error)
		touch "$dir/node_modules/.package-lock.json"
	fi
done
# FLAGS are quoted for a shell: how the Makefile has compiled all others.
export WEIR_CLIENTS="${1:-}"
eval "exec \"${GO:-go}\" test ${FLAGS:-} -vet=off -tags clients -count=1 -timeout 15m ."
