package host_test

import (
	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host"
)

// A session is what an agent calls tools through; neither side imports the other.
var (
	_ agent.Toolbox = (*host.Session)(nil)
	_ agent.Finder  = (*host.Session)(nil)
)
