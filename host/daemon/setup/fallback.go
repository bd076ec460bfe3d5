package setup

import "slices"

// Fallback returns the models that answer a question, in order, if the model which it is for
// cannot. They are the profile's if it names some and the model is its own, else the model's.
// Models that the principal may not use are left out.
func (v View) Fallback(p Profile, model string) []string {
	list := v.fallbackOf(model)
	if model == p.Model && p.Fallback != nil {
		list = p.Fallback
	}
	return slices.DeleteFunc(Chain(model, list, v.fallbackOf), func(name string) bool { return v.Models[name].Model == nil })
}

// Passes reports whether requests may be passed through to a model by its name. A user who has
// only some profiles has the models behind them in weir's loop alone, unless their Models list
// them.
func (v View) Passes(model string) bool {
	if v.User != nil && v.User.Profiles != nil && v.User.Models == nil {
		return false
	}
	return v.Models[model].Model != nil
}

// PassedFallback is Fallback for requests that are passed through to a model: its own list
// decides, and of that only models which call tools in the same way and have no smaller window,
// because the client's messages are made for the first one.
func (v View) PassedFallback(model string) []string {
	first := v.Models[model]
	return slices.DeleteFunc(v.Fallback(Profile{}, model), func(name string) bool {
		m := v.Models[name]
		return !v.Passes(name) || !sameCalling(first.NativeTools, m.NativeTools) || m.Info.Window < first.Info.Window
	})
}

func sameCalling(a, b *bool) bool { return a == b || a != nil && b != nil && *a == *b }

func (v View) fallbackOf(name string) []string { return v.Models[name].Fallback }

// Chain returns the models to which a list of fallbacks leads, in the order in which they are
// asked: each is followed by those of its own list, and each is asked once. The list is that
// of the model first, which is not among them. of returns the list of a model.
func Chain(first string, list []string, of func(name string) []string) []string {
	var out []string
	var follow func([]string)
	follow = func(list []string) {
		for _, name := range list {
			if name == first || slices.Contains(out, name) {
				continue
			}
			out = append(out, name)
			follow(of(name))
		}
	}
	follow(list)
	return out
}
