package sandbox

import (
	"errors"
	"sync"

	"github.com/tetratelabs/wazero/api"

	"github.com/weirhost/weir/host/internal/instrument"
	"github.com/weirhost/weir/host/internal/memsnap"
)

// Three parts reset an instance: host/internal/memsnap its memories, the code that
// host/internal/instrument has added its globals, and this file its env.

// errNotReusable says that an instance cannot serve another call.
var errNotReusable = errors.New("the instance cannot be used again")

// errNotRecyclable says that a module's instances cannot serve several calls, which is
// known only after one was created.
var errNotRecyclable = errors.New("its instances cannot be kept")

// A snapshot is the state in which calls begin. The first instance of a module reaches
// it by running its initialization, the others restore it.
type snapshot struct {
	image  *memsnap.Image // nil: the guest has no memory
	saved  []uint64       // globals
	direct bool
	box    uint32
}

// snapshots holds what the instances of a program share.
type snapshots struct {
	mu     sync.Mutex
	kernel *memsnap.Image // the kernel's memory before any use
	guest  *snapshot      // nil: none yet, or it cannot be shared
}

// settle brings a new instance to the state in which calls begin, and saves that
// state.
func (i *wazeroInstance) settle() error {
	kernel, ok := i.env.memory.of(0)
	guest, fine := i.env.memory.of(1)
	if !ok || !fine {
		return errNotRecyclable
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

// settleKernel saves the state of the unused kernel.
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

// comeTo initializes the guest and saves its state.
func (i *wazeroInstance) comeTo(kernel, guest *memsnap.Memory) error {
	if err := i.initialise(); err != nil {
		return err
	}
	if i.env.touched { // what it exchanged with the host belongs to one call
		return errNotRecyclable
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
		return s.close() // this memory keeps the image
	}
	for n := range i.program.globals {
		s.saved = append(s.saved, i.main.ExportedGlobal(instrument.SavedGlobal(n)).Get())
	}
	return i.program.shared.put(s)
}

// takeOver restores the state of another instance of the module.
func (i *wazeroInstance) takeOver(s *snapshot, guest *memsnap.Memory) error {
	if guest != nil {
		resize, err := guest.Adopt(s.image)
		if err != nil {
			return err
		}
		if resize {
			if _, ok := i.main.Memory().Grow(1); !ok {
				return errNotRecyclable
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
		return errNotReusable
	}
	kernel, _ := i.env.memory.of(0)
	guest, _ := i.env.memory.of(1)
	if err := i.renewKernel(kernel); err != nil {
		return err
	}
	if guest != nil {
		if _, err := guest.Renew(); err != nil { // restoring reports the size to the engine
			return err
		}
	}
	if err := i.restoreMain(); err != nil {
		return err
	}
	i.dropHandles()
	i.env.clear()
	return nil
}

// renewKernel does nothing if the kernel was not used, as in most calls of guests with
// a mailbox: to find its written pages would be a tenth of a short call.
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

// quick calls a function that package instrument has added, once.
func (i *wazeroInstance) quick(m api.Module, name string) error {
	f := m.ExportedFunction(name)
	if f == nil {
		return errNotRecyclable
	}
	return f.CallWithStack(i.within(), nil)
}

// get returns the state that instances may restore; nil: there is none yet.
func (s *snapshots) get() *snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.guest
}

// put shares the state of an instance, unless there is one already.
func (s *snapshots) put(one *snapshot) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.guest != nil {
		return one.close()
	}
	s.guest = one
	return nil
}

// layKernel maps the image of an unused kernel into a memory. The first call creates
// the image.
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

// close releases the program's images; instances keep theirs.
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
