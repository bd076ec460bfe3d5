#!/bin/sh
# Tries the daemon with the clients that people use, from npm. Where npm is
# missing it is installed in CI, and elsewhere the clients are left out.
set -eu
cd "$(dirname "$0")"
if ! command -v npm >/dev/null 2>&1; then
	if [ "${CI:-}" != true ]; then
		echo "npm is not found: the clients of npm are not tried (CI=true installs it)"
		exit 0
	fi
	root=$([ "$(id -u)" = 0 ] || echo sudo)
	$root apt-get update -qq
	$root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends nodejs npm ca-certificates
fi
# What is installed already is taken as long as the lock file is older.
if [ ! node_modules/.package-lock.json -nt package-lock.json ]; then
	npm ci --no-audit --no-fund --loglevel=error
	touch node_modules/.package-lock.json
fi
exec "${GO:-go}" test -tags clients -count=1 -timeout 3m .
