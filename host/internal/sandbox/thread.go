package sandbox

import "runtime"

// pinThread locks the goroutine to its thread from before the call until the reset,
// and tracks the thread's writes to the guest's memory. While the call waits, the
// thread is released.
func (i *wazeroInstance) pinThread() {
	guest, _ := i.env.memory.of(1)
	if !i.lasting || guest == nil {
		return
	}
	runtime.LockOSThread()
	guest.Attend()
	i.pinned = true
}

// unpinThread ends that; the reset then searches for the written pages.
func (i *wazeroInstance) unpinThread() {
	if !i.pinned {
		return
	}
	i.pinned = false
	if guest, _ := i.env.memory.of(1); guest != nil {
		guest.Neglect()
	}
	runtime.UnlockOSThread()
}
