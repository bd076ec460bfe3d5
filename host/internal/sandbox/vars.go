package sandbox

import (
	"errors"

	"github.com/tetratelabs/wazero/api"
)

// varBytes is what Extism variables of one call may hold together.
const varBytes = 1 << 20

// varCost is what a variable counts beside its name and its value, in bytes: as
// much as in Extism's Go SDK, so that the same variables fit.
const varCost = 40

// errVars ends a call, as in Extism's SDK, for the function has no way to fail.
var errVars = errors.New("Variable store is full")

// storeFunctions are those that Extism's SDK answers by itself, for the engine
// that runs without it.
func storeFunctions() []hostFunction {
	i64 := []api.ValueType{api.ValueTypeI64}
	return []hostFunction{
		{hostModule, "config_get", i64, i64, configGet},
		{hostModule, "var_get", i64, i64, varGet},
		{hostModule, "var_set", []api.ValueType{api.ValueTypeI64, api.ValueTypeI64}, nil, varSet},
	}
}

// configGet(key) → value. The block of the key stays the guest's.
func configGet(h *host, stack []uint64) error {
	key, err := h.read(stack[0], kernelCap)
	if err != nil {
		return err
	}
	value, ok := h.env.setting(string(key))
	if !ok {
		stack[0] = 0
		return nil
	}
	stack[0], err = h.write([]byte(value))
	return err
}

// varGet(name) → value takes the block of the name.
func varGet(h *host, stack []uint64) error {
	name, err := h.take(stack[0], kernelCap)
	if err != nil {
		return err
	}
	stack[0], err = h.write(h.env.vars[string(name)])
	return err
}

// varSet(name, value) takes both blocks; without a value the variable goes.
func varSet(h *host, stack []uint64) error {
	name, err := h.take(stack[0], kernelCap)
	if err != nil {
		return err
	}
	if stack[1] == 0 {
		delete(h.env.vars, string(name))
		return nil
	}
	value, err := h.take(stack[1], kernelCap)
	if err != nil {
		return err
	}
	size := varCost + len(name) + len(value)
	for k, v := range h.env.vars {
		size += varCost + len(k) + len(v)
	}
	if size >= varBytes {
		return errVars
	}
	if h.env.vars == nil {
		h.env.vars = make(map[string][]byte)
	}
	h.env.vars[string(name)] = value
	return nil
}
