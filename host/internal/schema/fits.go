package schema

// Fits reports whether a value is valid. Unlike Check it says of no member that it is
// unknown, unless the schema does. Numbers in v must have been decoded as json.Number.
// A value that needs too much work counts as invalid.
func (s *Schema) Fits(v any) (ok bool) {
	defer func() {
		if recover() != nil { // a panic of the library ends this check alone
			ok = false
		}
	}()
	r := s.load()
	if r == nil {
		return false
	}
	if work, _ := r.work(v, maxWork); work > maxWork {
		return false
	}
	return r.misfit.Validate(v) != nil // what misfit refuses
}
