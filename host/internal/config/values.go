package config

import "github.com/weirhost/weir/host/internal/config/value"

// The values of settings that have a form of their own.
type (
	ByteLimit = value.ByteLimit
	Duration  = value.Duration
)
