package main

import (
	"fmt"
	"io"
	"time"
)

// A row is one promise with what was measured.
type row struct {
	what      string
	ours, ref string // as measured
	ratio     float64
	target    target
}

// A target bounds a ratio. One below 1 is printed as a fraction.
type target struct {
	bound float64
	least bool // the ratio must be at least so much, not at most
	unit  string
}

func most(bound float64) target  { return target{bound: bound} }
func least(bound float64) target { return target{bound: bound, least: true} }

func (t target) met(ratio float64) bool {
	if t.least {
		return ratio >= t.bound
	}
	return ratio <= t.bound
}

func (t target) String() string {
	if t.least {
		return "≥ " + t.show(t.bound)
	}
	return "≤ " + t.show(t.bound)
}

// show is a ratio as people say it.
func (t target) show(ratio float64) string {
	switch {
	case t.unit != "":
		return fmt.Sprintf("%.0f %s", ratio, t.unit)
	case t.bound < 1 && 0 < ratio && ratio < 1:
		return fmt.Sprintf("1/%.4g", 1/ratio)
	}
	return fmt.Sprintf("%.3g ×", ratio)
}

// A table prints rows as they come: a run takes minutes.
type table struct {
	out io.Writer
	ok  bool // so far
}

const columns = "%-52s %12s %14s %10s %9s  %s\n"

func newTable(out io.Writer) *table {
	fmt.Fprintf(out, columns, "", "ours", "reference", "ratio", "target", "")
	return &table{out: out, ok: true}
}

func (t *table) print(rows []row) {
	for _, r := range rows {
		word := "ok"
		if !r.target.met(r.ratio) {
			word, t.ok = "short", false
		}
		fmt.Fprintf(t.out, columns, r.what, r.ours, r.ref, r.target.show(r.ratio), r.target, word)
	}
}

// took is a time with three digits.
func took(d time.Duration) string {
	switch {
	case d < time.Microsecond:
		return fmt.Sprintf("%d ns", d.Nanoseconds())
	case d < time.Millisecond:
		return fmt.Sprintf("%.3g µs", float64(d)/1e3)
	case d < time.Second:
		return fmt.Sprintf("%.3g ms", float64(d)/1e6)
	}
	return fmt.Sprintf("%.3g s", d.Seconds())
}
