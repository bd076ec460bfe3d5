#!/bin/sh
# Tries the page in a browser, with a real daemon. Where the browser or npm
# is missing the page is not tried; sdk/toolchains.sh installs both in CI.
set -eu
cd "$(dirname "$0")"
# Chromium without windows needs less of the processor where Debian's package of it is installed.
browser=$(command -v chromium-headless-shell || command -v chromium || true)
for tool in npm "${browser:-chromium}"; do
	if ! command -v "$tool" >/dev/null 2>&1; then
		echo "$tool is not found: the page is not tried in a browser"
		[ "${CI:-}" != true ]
		exit
	fi
done
# What is installed already is taken as long as the lock file is older.
if [ ! node_modules/.package-lock.json -nt package-lock.json ]; then
	npm ci --no-audit --no-fund --loglevel=error
	touch node_modules/.package-lock.json
fi
# The types of the page's sources are checked meanwhile; the end says what is wrong.
types=$(mktemp)
trap 'rm -f "$types"' EXIT
node_modules/.bin/tsc -p ../src >"$types" 2>&1 &
# Playwright needs Node 20; the clients of npm have brought one where the system's is older.
node=$(ls ../../clients/node_modules/node-linux-*/bin/node 2>/dev/null | head -1)
# All files at a time, the longest first: each has its own daemon and browser, which often
# wait for one another.
[ $# -gt 0 ] || set -- views.test.mjs journeys.test.mjs setup.test.mjs results.test.mjs plugins.test.mjs
failed=0
CHROMIUM=$browser "${node:-node}" --test --test-reporter=spec --test-timeout=900000 --test-concurrency=5 "$@" || failed=1
wait $! || { cat "$types"; failed=1; }
exit $failed
