//go:build !linux

package worker

func openRegion(int) (*region, error) { return nil, errSystem }

func unmap([]byte) {}
