package author

import "testing"

func TestFill(t *testing.T) {
	v := view{Spec: Spec{Name: "sample", Language: "c", Template: "basic"}, Title: "C", Source: "main.c"}
	for text, want := range map[string]string{
		"":                                    "",
		"plain {} % {":                        "plain {} % {",
		"{% .Name %} in {% .Title %}\r\nnext": "sample in C\r\nnext",
		"a {% .Source %}{% .Name %}":          "a main.csample",
		"a\n{% c rust %}b\n{% js %}c\nd":      "a\nb\nd",
		"{% basic %}{% .Name %}":              "sample",
		"{% http files %}a\n{% c http %} b\n": " b\n",
	} {
		if got, err := v.fill(text); err != nil || got != want {
			t.Errorf("%q becomes %q, %v, want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"{% .name %}", "{% cobol %}a", "{% c cobol %}a", "a {% c %}b", "a {% if %}", "{% c", "{%.Name%}"} {
		if got, err := v.fill(text); err == nil {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}
