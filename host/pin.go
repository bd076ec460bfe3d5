package host

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weirhost/weir/sdk/tool"
)

// maxKeepTurns is how many turns a load can be asked to stay.
const maxKeepTurns = 10

// keepTurns reads for how many turns a load is to stay, its own included; 0:
// the arguments do not say. Models write numbers as strings, too.
func (w wording) keepTurns(args json.RawMessage) (int, *tool.Error) {
	var object map[string]json.RawMessage
	_ = json.Unmarshal(args, &object) // who reads the other arguments has complained already
	for _, key := range slices.Sorted(maps.Keys(object)) {
		text := strings.Trim(string(object[key]), `" `)
		if !strings.EqualFold(key, "keep_turns") || text == "" || text == "null" {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxKeepTurns {
			wrong := map[tool.Locale]string{tool.En: "keep_turns must be a whole number from 1 to %d", tool.Zh: "keep_turns 必须是 1 到 %d 的整数"}[w.locale]
			return 0, w.failure(tool.BadArgs, w.misfit, fmt.Sprintf(w.hintArgs, `{"uuid": "…", "keep_turns": 3}`), tool.LoadHistory, fmt.Sprintf(wrong, maxKeepTurns))
		}
		return n, nil
	}
	return 0, nil
}
