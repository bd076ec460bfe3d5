package main

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is the release, and the commit where the build knows it.
func version() string {
	const release = "0.1.0"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return release
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return release + "+" + s.Value[:12]
		}
	}
	return release
}

func versionCmd(c *cli) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: argCount(0, 0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			if c.AsJSON(map[string]string{"version": version(), "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH}) {
				return nil
			}
			c.outf("weir %s (%s, %s/%s)\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return nil
		},
	}
}
