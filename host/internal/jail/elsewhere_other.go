//go:build !linux

package jail

// Everywhere returns the paths: where else they lead is not known on this system.
func Everywhere(paths []string) []string { return paths }
