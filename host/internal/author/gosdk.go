package author

import (
	"io/fs"
	"path"
	"strings"

	"github.com/weirhost/weir/sdk"
)

// goSDK is the Go SDK below weir/ of the new module, each import at its new place.
func goSDK(s Spec) (map[string][]byte, error) {
	out := map[string][]byte{}
	from := sdk.Sources()
	for _, dir := range []string{"tool", "guest", "guest/files"} {
		entries, err := fs.ReadDir(from, dir)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			name := path.Join(dir, e.Name())
			if e.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
				continue
			}
			text, err := fs.ReadFile(from, name)
			if err != nil {
				return nil, err
			}
			out[path.Join("weir", name)] = []byte(strings.ReplaceAll(string(text), `"github.com/weirhost/weir/sdk/`, `"example.com/`+s.Name+`/weir/`))
		}
	}
	return out, nil
}
