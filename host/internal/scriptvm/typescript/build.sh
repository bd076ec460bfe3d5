#!/bin/sh
# Makes stripper.js: what Sucrase needs to take the types out of TypeScript, in one file.
# The same bytes come out wherever it runs. Needs npm.
set -eu
out=${1:-stripper.js}
cd "$(dirname "$0")"
case $out in /*) ;; *) out=$PWD/$out ;; esac
if [ ! node_modules/.package-lock.json -nt package-lock.json ]; then
	npm ci --no-audit --no-fund --loglevel=error
	touch node_modules/.package-lock.json
fi
node_modules/.bin/esbuild strip.js --bundle --minify --format=iife --global-name=stripper --target=es2023 --legal-comments=none --log-level=warning \
	--banner:js="/* Sucrase 3.35.1, as build.sh makes it; stripper.licences.txt has the licences */" --outfile="$out"
for package in sucrase @jridgewell/gen-mapping @jridgewell/sourcemap-codec @jridgewell/trace-mapping lines-and-columns ts-interface-checker; do
	printf '%s\n\n' "$package"
	cat "node_modules/$package/LICENSE"
	printf '\n'
done >"${out%.js}.licences.txt"
