#!/usr/bin/env bash
# Looks for known vulnerabilities in the code that weir calls. Where the scanner or its
# database cannot be had, it says so and succeeds: that is no fault of the code.
set -euo pipefail
cd "$(dirname "$0")/.."
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT

# The scanner is built as the Makefile builds, which has compiled the standard library.
if ! CGO_ENABLED=0 GOBIN=$bin ${GO:-go} install -trimpath -gcflags=all=-dwarf=false golang.org/x/vuln/cmd/govulncheck@v1.9.0 2>/dev/null; then
  echo "vulnerabilities: not checked, because govulncheck cannot be downloaded"
elif ! version=$("$bin/govulncheck" -version 2>&1) || ! grep -q '^DB updated' <<<"$version"; then
  echo "vulnerabilities: not checked, because the database at https://vuln.go.dev cannot be reached"
else
  "$bin/govulncheck" ./...
fi
