#!/usr/bin/env bash
# Looks for known vulnerabilities in the code that weir calls. Where the scanner or its
# database cannot be had, it says so and succeeds: that is no fault of the code.
set -euo pipefail
cd "$(dirname "$0")/.."
scan=(${GO:-go} run golang.org/x/vuln/cmd/govulncheck@v1.9.0)

if ! version=$("${scan[@]}" -version 2>&1); then
  echo "vulnerabilities: not checked, because govulncheck cannot be downloaded"
elif ! grep -q '^DB updated' <<<"$version"; then
  echo "vulnerabilities: not checked, because the database at https://vuln.go.dev cannot be reached"
else
  "${scan[@]}" ./...
fi
