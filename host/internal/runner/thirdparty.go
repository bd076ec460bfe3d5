package runner

import (
	"encoding/json"
	"strconv"

	"github.com/weirhost/weir/host/internal/registry"
)

// listInput returns the input of an ABI's listing export.
func listInput(a registry.ABI) []byte {
	if a == registry.ABIList {
		return []byte(`{"context":{"id":0,"_meta":{}}}`)
	}
	return nil
}

// ThirdPartyInput wraps the arguments of a call in the request of a third party's
// ABI. The id tells calls apart and is the token for progress.
func ThirdPartyInput(a registry.ABI, name string, args json.RawMessage, id int64) (json.RawMessage, error) {
	request := map[string]any{"name": name, "arguments": args}
	if a == registry.ABIDescribe {
		return json.Marshal(map[string]any{"params": request})
	}
	meta := map[string]any{"progressToken": strconv.FormatInt(id, 10)}
	return json.Marshal(map[string]any{"request": request, "context": map[string]any{"id": id, "_meta": meta}})
}
