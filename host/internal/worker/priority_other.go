//go:build !linux

package worker

import "time"

func (*process) hasThread(int) bool { return false }

func (*process) lowerThread(int) {}

func (*process) lower() {}

func (*process) cpuTime() time.Duration { return 0 }

func threadID() int { return 0 }
