package worker

import (
	"github.com/weirhost/weir/host/internal/answer"
	"github.com/weirhost/weir/host/internal/frames"
)

// The kinds of frames. A parent sends the first three, a child the others. The small
// part of a call and of a result is packed (packed.go); in all others it is JSON.
const (
	kindLoad     frames.Kind = iota + 1 // loadMeta; the module
	kindCall                            // callMeta; the input
	kindResponse                        // responseMeta; the body
	kindReady                           // readyMeta
	kindResult                          // resultMeta; the output
	kindProgress                        // progressMeta
	kindLog                             // logMeta
	kindRequest                         // requestMeta; the body
	kindThread                          // threadMeta
)

const (
	maxMeta = 1 << 20   // bytes: settings of a tool, headers of a request
	maxText = 128 << 10 // bytes of a log line, a progress report or a failure, as JSON
	maxBody = 16 << 20  // bytes of an HTTP body, in both directions
	maxWasm = 1 << 30   // bytes; the registry accepts far fewer
	maxCall = 32 << 20  // bytes of input, more than the sandbox accepts
)

// What a child expects: first a module, then calls, and responses while its guest
// waits for one.
var (
	expectLoad     = frames.Limits{kindLoad: {Meta: maxMeta, Data: maxWasm}}
	expectCall     = frames.Limits{kindCall: {Meta: maxMeta, Data: maxCall}}
	expectResponse = frames.Limits{kindResponse: {Meta: maxMeta, Data: maxBody}}
)

// fromChild returns what a parent expects during a call whose output is bounded.
func fromChild(maxOutput int, mcp bool) frames.Limits {
	if mcp {
		maxOutput = answer.MaxFlat
	}
	return frames.Limits{
		kindLog: {Meta: maxText}, kindProgress: {Meta: maxText}, kindThread: {Meta: maxText},
		kindResult: {Meta: maxText, Data: maxOutput}, kindRequest: {Meta: maxMeta, Data: maxBody},
	}
}
