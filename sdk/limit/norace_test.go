//go:build !race

package limit

const raced = false
