// Package changes compares the plugins of two scans.
package changes

import "github.com/weirhost/weir/host/plugin"

// A Change lists the names of the plugins that a reload changed, by what became of
// them.
type Change struct {
	Added   []string `json:"added"`   // usable and new
	Changed []string `json:"changed"` // usable and different
	Removed []string `json:"removed"`
	Pending []string `json:"waiting"` // need a permission or an approval
	Invalid []string `json:"refused"`
}

// Empty reports whether nothing changed.
func (c Change) Empty() bool {
	return len(c.Added)+len(c.Changed)+len(c.Removed)+len(c.Pending)+len(c.Invalid) == 0
}

// A Plugin is one plugin as a scan found it. Its Source is unique.
type Plugin struct {
	Source, Name string
	State        plugin.State
	Text         string // equal for two states between which nothing changed
	Review       string // the version that a person must review; empty: none
}

// Between returns what changed from one scan to the next, in the order of the lists.
func Between(before, after []Plugin) Change {
	c := Change{Added: []string{}, Changed: []string{}, Removed: []string{}, Pending: []string{}, Invalid: []string{}}
	old, now := bySource(before), bySource(after)
	for _, is := range after {
		was, existed := old[is.Source]
		switch {
		case existed && was.Text == is.Text:
		case is.State == plugin.Invalid:
			c.Invalid = append(c.Invalid, is.Name)
		case is.State == plugin.Pending, is.Review != "" && is.Review != was.Review:
			c.Pending = append(c.Pending, is.Name)
		case is.State == plugin.Disabled:
			c.Removed = append(c.Removed, is.Name)
		case existed && was.State == plugin.Ready:
			c.Changed = append(c.Changed, is.Name)
		default:
			c.Added = append(c.Added, is.Name)
		}
	}
	for _, was := range before {
		if _, ok := now[was.Source]; !ok {
			c.Removed = append(c.Removed, was.Name)
		}
	}
	return c
}

func bySource(list []Plugin) map[string]Plugin {
	out := make(map[string]Plugin, len(list))
	for _, p := range list {
		out[p.Source] = p
	}
	return out
}
