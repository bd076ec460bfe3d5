package plugintest

import (
	"encoding/xml"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"
)

// The elements of JUnit's XML that all its readers support.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Time     string       `xml:"time,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Time     string      `xml:"time,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name    string     `xml:"name,attr"`
		Class   string     `xml:"classname,attr"`
		File    string     `xml:"file,attr,omitempty"`
		Line    int        `xml:"line,attr,omitempty"`
		Time    string     `xml:"time,attr"`
		Failure *junitText `xml:"failure,omitempty"`
		Error   *junitText `xml:"error,omitempty"`
	}
	junitText struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		Text    string `xml:",chardata"`
	}
)

// WriteJUnit writes a report as JUnit's XML: a suite for each file of cases, and
// one for problems that prevented cases from running.
func WriteJUnit(w io.Writer, r Report) error {
	all := junitSuites{Name: r.Plugin, Time: seconds(r.Took)}
	suites := map[string]*junitSuite{}
	var order []string
	suite := func(name string) *junitSuite {
		if suites[name] == nil {
			suites[name] = &junitSuite{Name: name}
			order = append(order, name)
		}
		return suites[name]
	}
	took := map[string]time.Duration{}
	for _, p := range r.Problems {
		s := suite(r.Plugin)
		s.Tests, s.Errors = s.Tests+1, s.Errors+1
		s.Cases = append(s.Cases, junitCase{Name: filepath.ToSlash(p.File), Class: r.Plugin, File: filepath.ToSlash(p.File), Line: p.Line, Time: seconds(0), Error: junitOf([]Problem{p}, "setup")})
	}
	for _, o := range r.Outcomes {
		group, name, _ := strings.Cut(o.Name, "/")
		s := suite(r.Plugin + "." + group)
		c := junitCase{Name: name, Class: s.Name, File: filepath.ToSlash(o.File), Line: o.Line, Time: seconds(o.Took)}
		s.Tests++
		if o.Failed() {
			s.Failures++
			c.Failure = junitOf(o.Problems, "expectation")
		}
		took[s.Name] += o.Took
		s.Cases = append(s.Cases, c)
	}
	for _, name := range order {
		s := *suites[name]
		s.Time = seconds(took[name])
		all.Tests, all.Failures, all.Errors = all.Tests+s.Tests, all.Failures+s.Failures, all.Errors+s.Errors
		all.Suites = append(all.Suites, s)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func junitOf(list []Problem, kind string) *junitText {
	t := &junitText{Message: list[0].Msg.String(), Type: kind}
	var lines []string
	for _, p := range list {
		lines = append(lines, p.text())
	}
	t.Text = strings.Join(lines, "\n")
	return t
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }
