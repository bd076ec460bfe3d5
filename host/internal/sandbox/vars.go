package sandbox

import (
	"errors"

	"github.com/tetratelabs/wazero/api"
)

// varBytes bounds the Extism variables of one call together, in bytes.
const varBytes = 1 << 20

// varCost is the overhead of a variable beside its name and value, in bytes: the same
// as in Extism's Go SDK.
const varCost = 40

// errVars ends a call, as in Extism's SDK: the function cannot return an error.
var errVars = errors.New("Variable store is full")

// storeFunctions are those that Extism's SDK implements, for the engine without it.
func storeFunctions() []hostFunction {
	i64 := []api.ValueType{api.ValueTypeI64}
	return []hostFunction{
		{hostModule, "config_get", i64, i64, configGet},
		{hostModule, "var_get", i64, i64, varGet},
		{hostModule, "var_set", []api.ValueType{api.ValueTypeI64, api.ValueTypeI64}, nil, varSet},
	}
}

// configGet(key) → value. The guest keeps the block of the key.
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

// varGet(name) → value frees the block of the name.
func varGet(h *host, stack []uint64) error {
	name, err := h.take(stack[0], kernelCap)
	if err != nil {
		return err
	}
	stack[0], err = h.write(h.env.vars[string(name)])
	return err
}

// varSet(name, value) frees both blocks; without a value it deletes the variable.
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
