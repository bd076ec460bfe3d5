package plugin_test

import (
	"encoding/json"
	"fmt"

	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// A plugin gets only what it asks for and what its Grant allows.
func ExampleGrant() {
	grant := plugin.Grant{
		Paths:   []plugin.PathGrant{{Guest: "/notes", Host: "/home/ann/notes", Mode: "rw"}},
		Hosts:   []plugin.HostGrant{{Host: "api.example.com"}, {Host: "intranet.example", Private: true}},
		Secrets: []string{"API_KEY"},
	}
	for _, p := range grant.Paths {
		fmt.Println(p.Guest, "is", p.Host, p.Mode)
	}
	// Output:
	// /notes is /home/ann/notes rw
}

// An empty header means Authorization, where a secret is sent as a bearer token.
func ExampleInjection_WithDefaults() {
	fmt.Printf("%+v\n", plugin.Injection{Name: "API_KEY", Host: "api.example.com"}.WithDefaults())
	fmt.Printf("%+v\n", plugin.Injection{Name: "API_KEY", Host: "api.example.com", Header: "X-Api-Key"}.WithDefaults())
	// Output:
	// {Name:API_KEY Header:Authorization Format:Bearer {} Host:api.example.com}
	// {Name:API_KEY Header:X-Api-Key Format:{} Host:api.example.com}
}

// The JSON form of an Info is part of the HTTP API.
func ExampleInfo() {
	info := plugin.Info{
		Name: "notes", State: plugin.Pending, Source: "/plugins/notes/plugin.toml", Trust: plugin.TrustAsk,
		Asks: []plugin.Ask{{Kind: "path", What: "/notes (rw)", Reason: tool.Textf("to save notes")}},
	}
	text, _ := json.MarshalIndent(info, "", "  ")
	fmt.Println(string(text))
	// Output:
	// {
	//   "name": "notes",
	//   "state": "waiting",
	//   "source": "/plugins/notes/plugin.toml",
	//   "trust": "ask",
	//   "asks": [
	//     {
	//       "kind": "path",
	//       "what": "/notes (rw)",
	//       "reason": "to save notes",
	//       "granted": false
	//     }
	//   ]
	// }
}

// A Review lists what an update changes. Exceeds marks a permission that the
// approved version does not have.
func ExampleReview() {
	review := plugin.Review{
		Plugin: plugin.Info{Name: "notes"},
		Changes: []plugin.Difference{
			{Kind: "power", Name: "host api.example.com", Is: tool.Textf("send and receive"), Exceeds: true},
			{Kind: "version", Was: tool.Textf("1.0.0"), Is: tool.Textf("1.1.0")},
		},
	}
	for _, c := range review.Changes {
		mark := " "
		if c.Exceeds {
			mark = "!"
		}
		fmt.Printf("%s %s %s: %q → %q\n", mark, c.Kind, c.Name, c.Was, c.Is)
	}
	// Output:
	// ! power host api.example.com: "" → "send and receive"
	//   version : "1.0.0" → "1.1.0"
}
