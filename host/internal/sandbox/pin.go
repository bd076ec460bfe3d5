package sandbox

import "runtime"

// pin attends to the guest's memory from before its call until it is renewed, all
// on one goroutine. While the call waits for something the thread is free again.
func (i *wazeroInstance) pin() {
	guest, _ := i.env.memory.of(1)
	if !i.lasting || guest == nil {
		return
	}
	runtime.LockOSThread()
	guest.Attend()
	i.pinned = true
}

// unpin ends that; what was written is then searched for.
func (i *wazeroInstance) unpin() {
	if !i.pinned {
		return
	}
	i.pinned = false
	if guest, _ := i.env.memory.of(1); guest != nil {
		guest.Neglect()
	}
	runtime.UnlockOSThread()
}
