package registry

import (
	"testing"

	"github.com/weirhost/weir/host/internal/egress"
)

func TestSettingValues(t *testing.T) {
	tests := []struct {
		typ   string
		in    any
		want  any
		fault string
	}{
		{"string", "a", "a", ""},
		{"string", int64(1), nil, "is 1, and must be of type string"},
		{"boolean", true, true, ""},
		{"boolean", "true", nil, `is "true", and must be of type boolean`},
		{"integer", int64(3), int64(3), ""},
		{"integer", 3, int64(3), ""}, // as a Go program writes it
		{"integer", 3.0, nil, "is 3, and must be of type integer"},
		{"number", 2.5, 2.5, ""},
		{"number", int64(2), 2.0, ""},
		{"number", 2, 2.0, ""},
		{"number", []any{}, nil, "is a list, and must be of type number"},
		{"", "x", nil, `is "x", and must be of type `}, // the type itself was wrong
	}
	for _, tt := range tests {
		got, err := Setting{Name: "s", Type: tt.typ}.Value(tt.in)
		if got != tt.want || errText(err) != tt.fault {
			t.Errorf("%s of %v: %v, %v", tt.typ, tt.in, got, err)
		}
	}
}

func TestIntersect(t *testing.T) {
	tests := []struct{ a, b, want string }{
		{"x.com", "x.com", "x.com"},
		{"x.com", "y.com", ""},
		{"*", "x.com", "x.com"},
		{"*.com", "*.x.com", "*.x.com"},
		{"*.x.com", "x.com", ""},    // a family does not hold its head
		{"*.x.com", "badx.com", ""}, // a suffix ends at a dot
		{"*.x.com", "*", "*.x.com"},
		{"x.com:*", "x.com:8443", "x.com:8443"},
		{"x.com:*", "x.com:*", "x.com:*"},
		{"x.com:1", "x.com:2", ""},
		{"http://x.com", "x.com", ""},
		{"*.a.com", "*.b.com", ""},
	}
	for _, tt := range tests {
		a, errA := egress.ParseRule(tt.a)
		b, errB := egress.ParseRule(tt.b)
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		for range 2 {
			got, ok := Intersect(a, b)
			if ok != (tt.want != "") || ok && got.String() != tt.want {
				t.Errorf("%s and %s: %s, %v", tt.a, tt.b, got, ok)
			}
			a, b = b, a // the order does not matter
		}
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
