//go:build wasip1

package host

// The guests under testdata are outside the module's own packages; this keeps
// what they import in go.mod.
import _ "github.com/extism/go-pdk"
