// Package grant intersects what a plugin asks for with what the operator grants.
//
// The kinds of permission (folders, hosts, secrets) are rows of one Table. A row
// knows how a plugin asks for it, what a grant gives of it, when an ask exceeds a
// grant, and how to describe it; see row. A new kind is a new row in a file of its
// own. Resolve applies the table and returns the permissions in force, what is
// missing, and the edits of tools.toml that would supply it. Settings does the same
// for a plugin's settings.
package grant
