package sandbox

import (
	"errors"
	"sync"

	"github.com/tetratelabs/wazero/api"

	"github.com/weirhost/weir/host/internal/instrument"
	"github.com/weirhost/weir/host/internal/memsnap"
)

// An instance is renewed by three hands: its memories by host/internal/memsnap, its
// globals by the code that host/internal/instrument has added, and its env here.

// errSpoiled says that an instance cannot serve another call.
var errSpoiled = errors.New("the instance cannot be used again")

// errUnkept says that a module's instances cannot serve several calls, which
// shows only when one is made.
var errUnkept = errors.New("its instances cannot be kept")

// snapshot is the state in which calls begin: the first instance of a module
// comes to it by itself, the others take it over.
type snapshot struct {
	image  *memsnap.Image // nil: the guest has no memory
	saved  []uint64       // globals
	direct bool
	box    uint32
}

// snapshots keeps what a program's instances have in common.
type snapshots struct {
	mu     sync.Mutex
	kernel *memsnap.Image // the kernel's memory before any use
	guest  *snapshot      // nil: none yet, or not to be shared
}

// settle brings a new instance to the state in which calls begin and keeps that.
func (i *wazeroInstance) settle() error {
	kernel, ok := i.env.memory.of(0)
	guest, fine := i.env.memory.of(1)
	if !ok || !fine {
		return errUnkept
	}
	if err := i.settleKernel(kernel); err != nil {
		return err
	}
	shared := i.program.shared.get()
	if shared != nil {
		if err := i.takeOver(shared, guest); err != nil {
			return err
		}
	} else if err := i.comeTo(kernel, guest); err != nil {
		return err
	}
	i.lasting = true
	return nil
}

// settleKernel keeps the kernel as it is, which nobody has used.
func (i *wazeroInstance) settleKernel(m *memsnap.Memory) error {
	if i.kernel == nil {
		return nil
	}
	if err := i.quick(i.kernel, instrument.SaveExport); err != nil {
		return err
	}
	i.kernelUsed, _ = i.kernel.ExportedGlobal(instrument.UsedGlobal).(api.MutableGlobal)
	return i.program.shared.layKernel(m)
}

// comeTo runs what sets the guest up, and keeps what came of it.
func (i *wazeroInstance) comeTo(kernel, guest *memsnap.Memory) error {
	if err := i.initialise(); err != nil {
		return err
	}
	if i.env.touched { // what it was told or told others was of one call
		return errUnkept
	}
	if err := i.renewKernel(kernel); err != nil {
		return err
	}
	if err := i.quick(i.main, instrument.SaveExport); err != nil {
		return err
	}
	s := &snapshot{direct: i.direct, box: i.box}
	if guest != nil {
		var err error
		if s.image, err = guest.Freeze(); err != nil {
			return err
		}
	}
	if !i.program.portable {
		return s.close() // this memory keeps it
	}
	for n := range i.program.globals {
		s.saved = append(s.saved, i.main.ExportedGlobal(instrument.SavedGlobal(n)).Get())
	}
	return i.program.shared.put(s)
}

// takeOver begins where another instance of the module began.
func (i *wazeroInstance) takeOver(s *snapshot, guest *memsnap.Memory) error {
	if guest != nil {
		resize, err := guest.Adopt(s.image)
		if err != nil {
			return err
		}
		if resize {
			if _, ok := i.main.Memory().Grow(1); !ok {
				return errUnkept
			}
		}
	}
	if err := i.quick(i.main, instrument.SaveExport); err != nil {
		return err
	}
	for n, v := range s.saved {
		i.main.ExportedGlobal(instrument.SavedGlobal(n)).(api.MutableGlobal).Set(v)
	}
	i.direct, i.box = s.direct, s.box
	return i.restoreMain()
}

// renew implements instance.
func (i *wazeroInstance) renew() error {
	if !i.lasting || i.spoiled {
		return errSpoiled
	}
	kernel, _ := i.env.memory.of(0)
	guest, _ := i.env.memory.of(1)
	if err := i.renewKernel(kernel); err != nil {
		return err
	}
	if guest != nil {
		if _, err := guest.Renew(); err != nil { // restoring tells the engine of the size
			return err
		}
	}
	i.unpin()
	if err := i.restoreMain(); err != nil {
		return err
	}
	i.dropHandles()
	i.env.clear()
	return nil
}

// renewKernel does nothing if nobody has used the kernel, as in most calls of guests
// with a mailbox: to ask for its written pages would be a tenth of a short call.
func (i *wazeroInstance) renewKernel(m *memsnap.Memory) error {
	if i.kernel == nil || i.kernelUsed != nil && i.kernelUsed.Get() == 0 {
		return nil
	}
	if m != nil {
		if _, err := m.Renew(); err != nil {
			return err
		}
	}
	if i.restoreKernelHandle == nil {
		i.restoreKernelHandle = i.kernel.ExportedFunction(instrument.RestoreExport)
	}
	if err := i.restoreKernelHandle.CallWithStack(i.within(), nil); err != nil {
		return err
	}
	if i.kernelUsed != nil {
		i.kernelUsed.Set(0)
	}
	return nil
}

func (i *wazeroInstance) restoreMain() error {
	if i.restoreHandle == nil {
		i.restoreHandle = i.main.ExportedFunction(instrument.RestoreExport)
	}
	return i.restoreHandle.CallWithStack(i.within(), nil)
}

// quick calls a function that the rewriter has added, once.
func (i *wazeroInstance) quick(m api.Module, name string) error {
	f := m.ExportedFunction(name)
	if f == nil {
		return errUnkept
	}
	return f.CallWithStack(i.within(), nil)
}

// get returns what instances may take over; nil: nothing yet.
func (s *snapshots) get() *snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.guest
}

// put offers the state of an instance to others, unless there is one already.
func (s *snapshots) put(one *snapshot) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.guest != nil {
		return one.close()
	}
	s.guest = one
	return nil
}

// layKernel puts the image of an unused kernel under a memory; the first one
// makes it.
func (s *snapshots) layKernel(m *memsnap.Memory) (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kernel == nil {
		s.kernel, err = m.Freeze()
		return err
	}
	_, err = m.Adopt(s.kernel)
	return err
}

// close gives up what the program holds; instances keep theirs.
func (s *snapshots) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	if s.kernel != nil {
		errs = append(errs, s.kernel.Close())
	}
	if s.guest != nil {
		errs = append(errs, s.guest.close())
	}
	return errors.Join(errs...)
}

func (s *snapshot) close() error {
	if s.image == nil {
		return nil
	}
	return s.image.Close()
}
