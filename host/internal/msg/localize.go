package msg

import (
	"reflect"

	"github.com/weirhost/weir/sdk/tool"
)

// Localize returns a copy of v in which every tool.Text, however deep in exported
// fields, elements and pointers, is rendered in the language l. What holds no Text
// is shared with v, which is not modified. In English it returns v itself.
func Localize[T any](l tool.Locale, v T) T {
	if l != tool.Zh {
		return v
	}
	out, changed := localize(l, reflect.ValueOf(&v).Elem())
	if !changed {
		return v
	}
	return out.Interface().(T)
}

func localize(l tool.Locale, v reflect.Value) (reflect.Value, bool) {
	if t, ok := v.Interface().(tool.Text); ok && v.Kind() == reflect.Struct {
		return reflect.ValueOf(tool.Text{Format: In(l, t)}), !t.IsZero()
	}
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	changed := false
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return v, false
		}
		e, ok := localize(l, v.Elem())
		if !ok {
			return v, false
		}
		if v.Kind() == reflect.Pointer {
			p := reflect.New(v.Type().Elem())
			p.Elem().Set(e)
			e = p
		}
		out.Set(e)
		return out, true
	case reflect.Struct:
		for i := range v.NumField() {
			if !v.Type().Field(i).IsExported() {
				continue
			}
			if e, ok := localize(l, v.Field(i)); ok {
				out.Field(i).Set(e)
				changed = true
			}
		}
	case reflect.Slice:
		out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		reflect.Copy(out, v)
		for i := range v.Len() {
			if e, ok := localize(l, v.Index(i)); ok {
				out.Index(i).Set(e)
				changed = true
			}
		}
	case reflect.Map:
		out.Set(reflect.MakeMapWithSize(v.Type(), v.Len()))
		for it := v.MapRange(); it.Next(); {
			e, ok := localize(l, it.Value())
			out.SetMapIndex(it.Key(), e)
			changed = changed || ok
		}
	}
	if !changed {
		return v, false
	}
	return out, true
}
