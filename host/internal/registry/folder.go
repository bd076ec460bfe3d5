package registry

// A Trust says how much the operator trusts what lies in a folder.
type Trust string

// In a TrustAsk folder every change of a plugin that asks for powers is for a
// person to approve; in a TrustGranted folder changes are accepted while the
// asks stay inside what is granted. The empty Trust reads as TrustAsk.
const (
	TrustAsk     Trust = "ask"
	TrustGranted Trust = "granted"
)

// A Folder is one place to look for plugins.
type Folder struct {
	Path  string
	Trust Trust
}
