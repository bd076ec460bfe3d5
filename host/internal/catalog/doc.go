// Package catalog decides which bytes of which plugin may run.
//
// Decide compares a scan of the plugin folders with the lock file: a version that a
// person approved runs; one that asks for nothing, or lies in a trusted folder and
// asks for no more than is granted, is approved automatically; everything else is
// pending, and the approved copy runs in its place, if there is one. Approve,
// Rollback, Disable, Enable and Remove are Changes of the lock file that Update
// applies. Review shows a person what they decide about.
//
// A Catalog does not know the host. Its Config has the clock, the log, the grants
// in force and the functions that it needs.
//
// # Files
//
//   - catalog: the decision
//   - entry: its outcome
//   - change, remove: approve, roll back, disable, remove
//   - diff, review: what a person sees of a change
//   - names: names of files and versions
package catalog
