package main

import "fmt"

// SecretGrant lets a plugin use a secret. A plugin with a manifest says itself
// where it goes; for one made for another host the operator does.
type SecretGrant struct {
	Name   string `toml:"name" json:"name"`
	Header string `toml:"header,omitempty" json:"header,omitempty"`
	Format string `toml:"format,omitempty" json:"format,omitempty"`
	Host   string `toml:"host,omitempty" json:"host,omitempty"`
}

// UnmarshalTOML takes "API_KEY" as well as { name = "API_KEY", host = "…" }.
func (s *SecretGrant) UnmarshalTOML(v any) error {
	switch v := v.(type) {
	case string:
		s.Name = v
		return nil
	case map[string]any:
		keys := map[string]*string{"name": &s.Name, "header": &s.Header, "format": &s.Format, "host": &s.Host}
		for key, x := range v {
			to, known := keys[key]
			if !known {
				return fmt.Errorf("a granted secret has no key %q; it has name, header, format and host", key)
			}
			text, ok := x.(string)
			if !ok {
				return fmt.Errorf("the key %q of a granted secret is no text", key)
			}
			*to = text
		}
		return nil
	}
	return fmt.Errorf("a granted secret is a name or a table { name = \"…\", host = \"…\" }")
}
