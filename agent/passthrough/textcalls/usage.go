package textcalls

import (
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/passthrough"
)

// counted is what a reply cost: as the server wrote it, and as it was read.
type counted struct {
	raw   []byte
	usage *agent.Usage
}

// add notes the usage of a chunk. A later one is of the whole reply.
func (u *counted) add(c passthrough.Chunk) {
	if c.Usage != nil {
		u.usage = c.Usage
	}
	if raw := gjson.GetBytes(c.Data, "usage"); raw.IsObject() {
		u.raw = []byte(raw.Raw)
	}
}

// with returns a chunk whose usage is that of both replies.
func (u *counted) with(c passthrough.Chunk) passthrough.Chunk {
	if c.Usage != nil && u.usage != nil {
		sum := u.usage.Add(*c.Usage)
		c.Usage = &sum
	}
	if now := gjson.GetBytes(c.Data, "usage"); now.IsObject() && u.raw != nil {
		c.Data = set(c.Data, "usage", sum([]byte(now.Raw), "", gjson.ParseBytes(u.raw)))
	}
	return c
}

// sum adds the numbers of one object to those of another at the same place.
func sum(to []byte, path string, from gjson.Result) []byte {
	from.ForEach(func(key, v gjson.Result) bool {
		at := path + gjson.Escape(key.String())
		switch {
		case v.IsObject():
			to = sum(to, at+".", v)
		case v.Type == gjson.Number:
			total := gjson.GetBytes(to, at).Float() + v.Float()
			to = set(to, at, strconv.AppendFloat(nil, total, 'f', -1, 64))
		}
		return true
	})
	return to
}
