#!/bin/sh
# Looks for what builds plugins in C, Rust and AssemblyScript. With the argument "all" it
# also looks for what `make test-all` needs: the clients from npm, the browser in which
# the page is tried, and PostgreSQL, on which the store is tested. With CI=true what
# is missing is installed, on Debian and Ubuntu, and it is an error if it cannot be used
# then. Elsewhere one line says what is missing and how to get it.
set -eu
cd "$(dirname "$0")"
all=
[ "${1:-}" != all ] || all=yes
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Besides clang this takes a linker, the C library for WASI and clang's own for Wasm.
has_c() {
	printf '#include <stdlib.h>\nvoid *f(size_t n) { return malloc(n); }\n' |
		clang --target=wasm32-wasi --sysroot=/usr -mexec-model=reactor -Wl,--export=f -x c - -o "$work/c.wasm" >/dev/null 2>&1
}

# rustup's rustc is often found before the system's and has no library for Wasm.
has_rust() {
	command -v cargo >/dev/null 2>&1 || return 1
	for rustc in rustc /usr/bin/rustc; do
		if has_target "$rustc" wasm32-unknown-unknown && { has_target "$rustc" wasm32-wasi || has_target "$rustc" wasm32-wasip1; }; then
			return 0
		fi
	done
	return 1
}

has_target() {
	dir=$("$1" --print target-libdir --target "$2" 2>/dev/null) && [ -d "$dir" ]
}

has_npm() {
	command -v node >/dev/null 2>&1 && command -v npm >/dev/null 2>&1
}

has_postgres() {
	ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null 2>&1
}

has_browser() {
	has_shell || command -v chromium >/dev/null 2>&1
}

# Debian has Chromium without windows as a package of its own. The page's tests need a
# quarter less of the processor with it.
shell=chromium-headless-shell
has_shell() {
	command -v $shell >/dev/null 2>&1
}

again() { # a mirror may be away for a moment
	"$@" || { sleep 5 && "$@"; } || { sleep 20 && "$@"; }
}

# fetch installs what the lock files ask for, unless that was done already. What tries the
# daemon and the page comes before AssemblyScript, whose failure is the one that counts:
# they install their own again if it lacks. It waits here, while make builds the tools.
fetch() {
	clients=
	[ -z "$all" ] || clients=../host/daemon/clients/package-lock.json
	page=
	! { [ -n "$all" ] && has_browser; } || page=../host/daemon/web/journeys/package-lock.json
	for lock in $clients $page */package-lock.json; do
		dir=${lock%/*}
		if [ -f "$lock" ] && [ ! "$dir/node_modules/.package-lock.json" -nt "$lock" ]; then
			again npm ci --prefix "$dir" --no-audit --no-fund --loglevel=error && touch "$dir/node_modules/.package-lock.json"
		fi
	done
}

root=
[ "$(id -u)" = 0 ] || root=sudo
install() {
	$root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" </dev/null >"$work/apt" 2>&1
}
if [ -n "$all" ] && [ "${CI:-}" = true ] && ! has_shell && grep -qx ID=debian /etc/os-release; then
	install $shell || { timeout 120 $root apt-get update -qq && install $shell; } || echo "$shell cannot be installed: chromium does without it"
fi

missing=
packages=
look() { # look WHAT PACKAGE...
	what=$1
	shift
	if ! "has_$what"; then
		missing="$missing $what"
		packages="$packages $*"
	fi
}
look c clang lld wasi-libc libclang-rt-dev-wasm32
look rust rustc cargo libstd-rust-dev-wasm32
look npm nodejs npm ca-certificates
if [ -n "$all" ]; then
	look browser chromium
	look postgres postgresql
fi

if [ "${CI:-}" != true ]; then
	[ -z "$missing" ] || echo "not tried, because the toolchain is missing:$missing (on Debian and Ubuntu: apt install$packages; CI=true does that)"
	if has_npm && ! fetch; then
		echo "AssemblyScript is not tried: npm could not fetch its compiler"
	fi
	exit 0
fi
if [ -n "$missing" ]; then
	again $root apt-get update -qq
	again install $packages || {
		cat "$work/apt" >&2
		exit 1
	}
	for what in $missing; do
		"has_$what" || { echo "$what was installed and cannot be used ($packages)" >&2; exit 1; }
	done
fi
fetch
