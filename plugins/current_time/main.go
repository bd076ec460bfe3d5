// Command current_time is a weir tool: it tells the time in any zone, shows a
// moment in other zones, and measures between two of them.
package main

import (
	"time"

	"github.com/weirhost/weir/sdk/guest"
)

//go:wasmexport current_time
func currentTime() int32 { return guest.Run(clock{now: time.Now}.tell) }

var _ = guest.Ready(clock{now: time.Now}.tell)

func main() {}
