//go:build !weir_shared

package app

const shared = false
