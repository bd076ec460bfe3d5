package sandbox

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

// Modules that plugins import from, besides WASI's.
const (
	envModule  = "extism:host/env"  // Extism's own
	userModule = "extism:host/user" // additions of hosts
)

// wasiFunctions returns the names of the engine's WASI functions.
func wasiFunctions() []string {
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	defer r.Close(ctx)
	m, err := wasi_snapshot_preview1.NewBuilder(r).Compile(ctx)
	if err != nil {
		return nil
	}
	return slices.Collect(maps.Keys(m.ExportedFunctions()))
}

// extismFunctions are the functions of Extism's ABI that plugins may import.
const extismFunctions = "alloc free length length_unsafe load_u8 load_u64 store_u8 store_u64 memory_bytes reset " +
	"input_set input_offset input_length input_load_u8 input_load_u64 output_set output_offset output_length " +
	"error_set error_get config_get var_get var_set http_request http_status_code http_headers " +
	"get_log_level log_trace log_debug log_info log_warn log_error"

// offered returns, by module, what plugins may import. wasi are the engine's WASI
// functions.
func offered(wasi []string) map[string][]string {
	offers := map[string][]string{wasi_snapshot_preview1.ModuleName: wasi, envModule: strings.Fields(extismFunctions)}
	for _, f := range hostFunctions() {
		if f.module != hostModule {
			offers[f.module] = append(offers[f.module], f.name)
		}
	}
	return offers
}
