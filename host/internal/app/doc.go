// Package app opens everything that a daemon consists of from its configuration:
// the host with its plugins and archive, the models, the tracer, and the daemon
// itself. Open does this under the lock of the data folder. Follow then keeps the
// plugins and the settings up to date while a daemon runs, and Reload reads the
// configuration again. The commands of weir that need no port use an App too,
// through its Handler.
//
// # Files
//
//   - app: opens
//   - models, addmodel, native, verdicts: models and what was seen of them
//   - reload, diff, patch, grant: changes of tools.toml
//   - lock: one process for a data folder
//   - scripts, tryscript: scripts
//   - summarize, toolsearch: what models do beside turns
//   - machine, tracing: health, spans
package app
