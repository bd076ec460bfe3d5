// Package app opens everything that a daemon consists of from its configuration:
// the host with its plugins and archive, the models, the tracer, and the daemon
// itself. Open does this under the lock of the data folder. Follow then keeps the
// plugins and the settings up to date while a daemon runs, and Reload reads the
// configuration again. The commands of weir that need no port use an App too,
// through its Handler.
package app
