package toolname

import (
	"testing"

	"pgregory.net/rapid"
)

func TestOld(t *testing.T) {
	for name, want := range map[string]string{
		"many__getIssue": "many__getissue", "many__a-b": "many__a_b", "many__a_b__0a1b2c": "many__a_b", "many__A.b": "many__a_b",
		"grep_search": "grep_search", "x__0a1b2c": "x__0a1b2c", "a__b__c": "a__b__c", "many__a_b_0a1b2c": "many__a_b_0a1b2c", "": "",
	} {
		if got := Old(name); got != want || Old(got) != got {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestForms(t *testing.T) {
	for _, row := range []struct {
		entry, name, alone string
		denied, allowed    bool
	}{
		{"s__getIssue", "s__getIssue", "s__getissue", true, true},
		{"s__getissue", "s__getIssue", "s__getissue", true, true},
		{"s__getissue", "s__getIssue", "", true, false},
		{"s__GETISSUE", "s__getIssue", "s__getissue", true, false},
		{"s__getIssue", "s__getissue", "s__getissue", true, false},
		{"s__a_b", "s__a_b__0a1b2c", "", true, false},
		{"s__a.b", "s__a-b", "s__a_b", true, false},
		{"s__a", "s__a_b", "s__a_b", false, false},
	} {
		n := Names{Name: row.name, Alone: row.alone}
		if got := Denied([]string{row.entry}, n); got != row.denied || MatchDenied(row.entry, n) != got {
			t.Errorf("%+v: denied %v", row, got)
		}
		if got := Allowed([]string{row.entry}, n); got != row.allowed || MatchAllowed(row.entry, n) != got {
			t.Errorf("%+v: allowed %v", row, got)
		}
	}
	for pattern, denied := range map[string]bool{"s__get*": true, "s__get-*": true, "s__GET_*": true, "s__[a-z]et-issue": true, "s__[A-Z]et*": false, "t__*": false} {
		if MatchDenied(pattern, Names{Name: "s__get-issue", Own: "get-issue", Sole: true}) != denied {
			t.Errorf("%s denies: %v", pattern, !denied)
		}
	}
}

// What is allowed by an entry would be denied by it: no form of a name escapes a denial.
func TestNoFormEscapes(t *testing.T) {
	name := rapid.StringMatching(`[a-z]{1,3}__[a-cA-C_.-]{1,4}(__[0-9a-f]{6})?`)
	rapid.Check(t, func(t *rapid.T) {
		entry, of := name.Draw(t, "entry"), name.Draw(t, "of")
		if rapid.Bool().Draw(t, "same") {
			entry = Old(of)
		}
		own := rapid.SampledFrom([]string{"", entry, Old(entry), of}).Draw(t, "own")
		n := Names{Name: of, Alone: Old(of), Own: own, Sole: rapid.Bool().Draw(t, "sole")}
		if Allowed([]string{entry}, n) && !Denied([]string{entry}, n) || MatchAllowed(entry, n) && !MatchDenied(entry, n) {
			t.Fatalf("%s allows %s and does not deny it", entry, of)
		}
	})
}

// The name that a server gives a tool denies every tool that has it, and allows one that
// alone has it. A pattern with * is never about it.
func TestOwnNames(t *testing.T) {
	for _, row := range []struct {
		entry           string
		sole            bool
		denied, allowed bool
	}{
		{"get-sum", true, true, true},
		{"get-sum", false, true, false},
		{"get_sum", true, true, false},
		{"GET-SUM", true, true, false},
		{"get-*", true, false, false},
		{"get", true, false, false},
	} {
		n := Names{Name: "e__get-sum", Alone: "e__get_sum", Own: "get-sum", Sole: row.sole}
		if got := Denied([]string{row.entry}, n); got != row.denied || MatchDenied(row.entry, n) != got {
			t.Errorf("%+v: denied %v", row, got)
		}
		if got := Allowed([]string{row.entry}, n); got != row.allowed || MatchAllowed(row.entry, n) != got {
			t.Errorf("%+v: allowed %v", row, got)
		}
	}
	if n := (Names{Name: "read_file"}); Denied([]string{""}, n) || MatchAllowed("", n) || Allowed([]string{""}, n) {
		t.Error("an empty entry fits a tool without a server's name")
	}
}
