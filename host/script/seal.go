package script

import (
	"github.com/weirhost/weir/host/internal/installkey"
	"github.com/weirhost/weir/sdk/tool"
)

// A sealer seals the states of scripts; the zero value leaves them as they are.
type sealer struct{ key *installkey.Key }

// SealWith seals the states that are stored from now on, and unseals those that are read.
// Call it before Recover and Start.
func (r *Runs) SealWith(key *installkey.Key) { r.key = sealer{key} }

func purpose(id string) string { return "script " + id }

func (s sealer) seal(id string, state []byte) []byte {
	if s.key == nil || state == nil {
		return state
	}
	return s.key.Seal(purpose(id), state)
}

// unseal returns a state. Errors are those of installkey.
func (s sealer) unseal(id string, sealed []byte) ([]byte, error) {
	if s.key == nil {
		return sealed, nil
	}
	return s.key.Unseal(purpose(id), sealed)
}

// isOthers reports whether what begins so was sealed by another key.
func (s sealer) isOthers(head []byte) bool { return s.key != nil && !s.key.Sealed(head) }

// otherToken is the error of a script whose state was sealed under another token.
func otherToken() *tool.Error {
	return tool.Errorf(tool.Failed, "run it again", "the script cannot go on: its state was stored under another token of the operator")
}
