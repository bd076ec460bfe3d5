package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/internal/guesttest"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/internal/testtime"
)

// Three daemons serve the same approved digests after what a person says at any of them,
// though only one has the plugin's folder.
func TestPlugins(t *testing.T) {
	if number("WEIR_CLUSTER_DAEMONS", 1) < 2 {
		t.Skip("make test-cluster runs it")
	}
	w := newWorld(t, 3)
	const name = "read_file"
	from := guesttest.Shipped(t, name)
	if err := os.CopyFS(filepath.Join(w.daemons[0].dir, "data", "plugins"), os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	say := func(d *daemon, word, body string) int {
		t.Helper()
		status, text, err := d.do(t.Context(), "POST", "/api/plugins/"+word, body)
		if err != nil {
			t.Fatalf("%s: %d %s %v", word, status, text, err)
		}
		return status
	}
	var pending plugin.Info
	testtime.Until(t, "the plugin waits for approval", func() bool {
		pending = w.daemons[0].plugin(name)
		return pending.Pending != nil
	})
	if status := say(w.daemons[0], name+"/approve", fmt.Sprintf(`{"digest":%q}`, pending.Pending.Digest)); status != 200 {
		t.Fatal(status)
	}
	same := func(disabled bool) {
		t.Helper()
		testtime.Until(t, "all daemons agree", func() bool {
			return !slices.ContainsFunc(w.daemons, func(d *daemon) bool {
				p := d.plugin(name)
				return p.Approved == nil || p.Digest != pending.Pending.Digest || (p.State == plugin.Disabled) != disabled
			})
		})
	}
	same(false)
	const rounds = 30
	for n := range rounds {
		word := []string{"disable", "enable"}[n%2]
		if status := say(w.daemons[n%3], name+"/"+word, "{}"); status != 200 {
			t.Errorf("%s: %d", word, status)
		}
		same(n%2 == 0)
	}
	w.daemons[1].kill()
	if status := say(w.daemons[2], name+"/disable", "{}"); status != 200 {
		t.Error(status)
	}
	w.daemons[1].start()
	same(true)
}

// plugin returns what a daemon says about a plugin; nothing if it does not know it.
func (d *daemon) plugin(name string) plugin.Info {
	d.Helper()
	ctx, cancel := context.WithTimeout(d.Context(), 5*time.Second)
	defer cancel()
	_, text, err := d.do(ctx, "GET", "/api/plugins", "")
	if err != nil {
		d.Fatal(err)
	}
	var list api.PluginList
	if err := json.Unmarshal(text, &list); err != nil {
		d.Fatalf("%v: %s", err, text)
	}
	if i := slices.IndexFunc(list.Plugins, func(p plugin.Info) bool { return p.Name == name }); i >= 0 {
		return list.Plugins[i]
	}
	return plugin.Info{}
}
