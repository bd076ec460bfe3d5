package prompt

import (
	"encoding/json"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/weirhost/weir/sdk/tool"
)

// A field that is added to a description must not be missed: two tools that
// differ in it alone would be taken for the same.
func TestEveryFieldOfASpecCounts(t *testing.T) {
	for _, path := range fields(reflect.TypeFor[tool.Spec](), nil) {
		var a, b tool.Spec
		if typ := reflect.TypeFor[tool.Spec]().FieldByIndex(path).Type; typ.Kind() == reflect.Pointer {
			a.Remote, b.Remote = &tool.Remote{}, &tool.Remote{}
			for _, inner := range fields(typ.Elem(), nil) {
				b.Remote = &tool.Remote{}
				differ(t, reflect.ValueOf(b.Remote).Elem().FieldByIndex(inner))
				if sameSpec(a, b) || sameSpec(b, a) || !sameSpec(b, b) || sameSpec(tool.Spec{}, b) {
					t.Errorf("%s: a difference is not seen", typ.Elem().FieldByIndex(inner).Name)
				}
			}
			continue
		}
		differ(t, reflect.ValueOf(&b).Elem().FieldByIndex(path))
		if sameSpec(a, b) || sameSpec(b, a) || !sameSpec(b, b) {
			t.Errorf("%s: a difference is not seen", reflect.TypeFor[tool.Spec]().FieldByIndex(path).Name)
		}
	}
	for i := range reflect.TypeFor[tool.Example]().NumField() {
		var e tool.Example
		reflect.ValueOf(&e).Elem().Field(i).Set(reflect.ValueOf(tool.Example{Ask: "x", AskZh: "x", Args: json.RawMessage("{}"), ArgsZh: json.RawMessage("{}")}).Field(i))
		if sameSpec(tool.Spec{Examples: []tool.Example{{}}}, tool.Spec{Examples: []tool.Example{e}}) {
			t.Errorf("an example's %s does not count", reflect.TypeFor[tool.Example]().Field(i).Name)
		}
	}
}

// differ gives a field another value than zero.
func differ(t *testing.T, v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Float64:
		v.SetFloat(1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	default:
		t.Fatalf("a field is a %s", v.Kind())
	}
}

// fields lists the fields of a struct, those of structs in it one by one.
func fields(typ reflect.Type, at []int) (out [][]int) {
	for i := range typ.NumField() {
		path := append(slices.Clone(at), i)
		if f := typ.Field(i); f.Type.Kind() == reflect.Struct {
			out = append(out, fields(f.Type, path)...)
		} else {
			out = append(out, path)
		}
	}
	return out
}

// The tools' part of a prompt is the same with a cache that has seen much
// and with none.
func TestAToolCacheChangesNothing(t *testing.T) {
	var cache Cache
	days := []time.Time{time.Date(2026, 11, 21, 23, 59, 0, 0, time.UTC), time.Date(2026, 11, 22, 0, 1, 0, 0, time.UTC), time.Date(2027, 11, 21, 9, 0, 0, 0, time.UTC)}
	renamed := slices.Clone(sampleTools())
	renamed[0].Description = "Something else."
	for round := range 2 {
		for _, tools := range [][]tool.Spec{sampleTools(), sampleTools()[:2], renamed, nil} {
			for _, l := range []tool.Locale{tool.En, tool.Zh} {
				for _, native := range []bool{false, true} {
					for _, budget := range []int{-1, 260} {
						for i, extra := range []string{"", "Be kind.", "Be brief."} {
							for _, first := range []string{"search files", "what time is it now?"} {
								in := Input{Locale: l, Native: native, Tools: tools, Budget: budget, First: first, Extra: extra, Today: days[i]}
								if got, want := cache.Of(tools).Prompt(in), New(in); !reflect.DeepEqual(got, want) {
									t.Fatalf("round %d, %s, native %v, %d tools, budget %d, %q: the cache gives\n%s\nwithout it\n%s", round, l, native, len(tools), budget, extra, got.Text, want.Text)
								}
							}
						}
					}
				}
				if got, want := cache.Of(tools).Native(l), newKit(tools).Native(l); !reflect.DeepEqual(got, want) {
					t.Fatalf("round %d, %s: %v, want %v", round, l, got, want)
				}
			}
		}
	}
	if n := len(*cache.kits.Load()); n != 4 {
		t.Errorf("%d kits for four lists of tools", n)
	}
}

// A cache keeps no more than it may, however many lists of tools and prompts
// there are, and everybody who asks at once gets the same kit.
func TestAToolCacheIsBounded(t *testing.T) {
	var cache Cache
	for i := range 3 * maxKits {
		k := cache.Of([]tool.Spec{{Name: "t", Output: tool.Limits{MaxChars: i + 1}}})
		for day := range 2 * maxPrompts {
			k.Prompt(Input{Tools: k.Specs, Budget: -1, Today: time.Date(2026, 1, 1+day, 0, 0, 0, 0, time.UTC)})
		}
		if n := len(k.prompts); n > maxPrompts {
			t.Fatalf("%d prompts are kept", n)
		}
	}
	if n := len(*cache.kits.Load()); n != maxKits {
		t.Errorf("%d kits are kept", n)
	}
	var wg sync.WaitGroup
	got := make([]*Kit, 8)
	for i := range got {
		wg.Go(func() { got[i] = cache.Of(sampleTools()) })
	}
	wg.Wait()
	if i := slices.IndexFunc(got, func(k *Kit) bool { return k != got[0] }); i >= 0 {
		t.Error("two kits for the same tools")
	}
}
