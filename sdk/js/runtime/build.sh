#!/bin/sh
# Makes runtime.wasm: QuickJS as npm has it, merged with adapter.wat, and without the
# exports that are then not needed. The same bytes come out wherever it runs. Needs npm.
set -eu
out=${1:-runtime.wasm}
cd "$(dirname "$0")"
case $out in /*) ;; *) out=$PWD/$out ;; esac
if [ ! node_modules/.package-lock.json -nt package-lock.json ]; then
	npm ci --no-audit --no-fund --loglevel=error
	touch node_modules/.package-lock.json
fi
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
bin=node_modules/.bin
features="--enable-bulk-memory --enable-bulk-memory-opt --enable-sign-ext --enable-nontrapping-float-to-int --enable-mutable-globals --enable-multivalue --enable-reference-types"
$bin/wasm-as $features adapter.wat -o "$tmp/adapter.wasm"
$bin/wasm-merge $features --rename-export-conflicts -S node_modules/quickjs-wasi/quickjs.wasm qjs "$tmp/adapter.wasm" env -o "$tmp/all.wat"
# The adapter's _initialize calls QuickJS's.
grep -vE '^ \(export "' "$tmp/all.wat" >"$tmp/bare.wat"
own=$(sed -nE 's/^ \(export "_initialize_[0-9]+" \(func (.*)\)\)$/\1/p' "$tmp/all.wat")
sed -i '$d' "$tmp/bare.wat"
{
	echo " (export \"_initialize\" (func $own))"
	grep -E '^ \(export "(weir_mailbox|weir_reserve|weir_call)" ' "$tmp/all.wat"
	grep -E '^ \(export "memory" ' "$tmp/all.wat"
	echo ")"
} >>"$tmp/bare.wat"
$bin/wasm-opt $features --remove-unused-module-elements --strip-debug --strip-producers "$tmp/bare.wat" -o "$out"
