package snapshot

import (
	"github.com/weirhost/weir/host/internal/mcpclient"
	"github.com/weirhost/weir/host/internal/toolname"
	"github.com/weirhost/weir/host/internal/upstream"
)

// ownNames are the names that servers give their tools.
type ownNames struct {
	count map[string]int
	taken map[string]bool // names of other tools, which are meant where they are written
	// whole reports whether every server has said what it has: before, one that comes later may
	// have the same name.
	whole bool
}

// ownNamesOf returns the names of the servers' tools. others are the names of all other tools.
func ownNamesOf(servers []*upstream.Server, others []string) ownNames {
	out := ownNames{count: map[string]int{}, taken: map[string]bool{}, whole: true}
	for _, name := range others {
		out.taken[name] = true
	}
	for _, server := range servers {
		st := server.Status()
		out.whole = out.whole && (st.State == mcpclient.Ready || len(st.Tools) > 0)
		for _, t := range server.Named() {
			out.count[t.Name]++
			out.taken[t.As] = true
		}
	}
	return out
}

// of returns the names of a server's tool. olds has how many tools have each old form.
func (o ownNames) of(t upstream.Named, olds map[string]int) toolname.Names {
	n := toolname.Names{Name: t.As}
	if old := toolname.Old(t.As); olds[old] == 1 {
		n.Alone = old
	}
	if !o.taken[t.Name] && olds[t.Name] == 0 {
		n.Own, n.Sole = t.Name, o.whole && o.count[t.Name] == 1
	}
	return n
}
