package history

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weirhost/weir/sdk/tool"
)

// maxKeepTurns bounds for how many turns a load can stay in the conversation.
const maxKeepTurns = 10

// keepTurns returns for how many turns a load is to stay in the conversation, its
// own turn included; 0 if the arguments do not say. Models write numbers as strings,
// too.
func keepTurns(args json.RawMessage) (int, *tool.Error) {
	var object map[string]json.RawMessage
	_ = json.Unmarshal(args, &object) // the arguments were valid for archive.ParsePart
	for _, key := range slices.Sorted(maps.Keys(object)) {
		value := strings.Trim(string(object[key]), `" `)
		if !strings.EqualFold(key, "keep_turns") || value == "" || value == "null" {
			continue
		}
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 || n > maxKeepTurns {
			return 0, tool.NewError(tool.BadArgs, tool.Textf("keep_turns must be a whole number from 1 to %d", maxKeepTurns),
				tool.Textf("correct this and call the tool again; an example that fits: %s", `{"uuid": "…", "keep_turns": 3}`))
		}
		return n, nil
	}
	return 0, nil
}
