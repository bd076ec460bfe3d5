// Package config reads and edits tools.toml. A Source holds the flags that decide
// which file it is; Paths finds the file and the data folder, and Load reads it
// with the environment and .env into Settings. Each Fault has its position in the
// file. Settings then become the configuration of other packages: Host, Profiles,
// DaemonUsers, Tracing. Nothing here prints or knows a command line.
package config
