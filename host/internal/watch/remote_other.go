//go:build !linux

package watch

// remote reports whether a folder lies where changes may come without events.
func remote(string) bool { return false }

// remedy is what a person can do about missing events.
func remedy(error) string { return "nothing has to be done" }
