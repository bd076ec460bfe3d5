package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"github.com/weirhost/weir/sdk/guest"
	"github.com/weirhost/weir/sdk/tool"
	"pgregory.net/rapid"
)

// compute runs the tool and returns the text after the repeated expression.
func compute(expr string) (string, error) {
	args, err := json.Marshal(args{expr})
	if err != nil {
		return "", err
	}
	out, err := guest.Invoke(calculate, string(args), guest.Options{})
	if i := strings.IndexAny(out.Text, "=≈"); i >= 0 {
		return out.Text[i:], err
	}
	return out.Text, err
}

func TestCalculate(t *testing.T) {
	for _, tt := range []struct{ expr, want, why string }{
		{"1+1", "= 2", "the simplest"},
		{"1 + 2 * 3", "= 7", "products first"},
		{"(1 + 2) * 3", "= 9", "brackets"},
		{"[1 + {2}] * 3", "= 9", "brackets of other forms"},
		{"10 - 4 - 3", "= 3", "from left to right"},
		{"2^3^2", "= 512", "powers from right to left"},
		{"2**10", "= 1024", "a power as Python writes it"},
		{"-2^2", "= -4", "the power before the sign"},
		{"(-2)^2", "= 4", "but not in brackets"},
		{"2^-3", "= 0.125", "a negative exponent"},
		{"--3", "= 3", "two signs"},
		{"7 / 2", "= 3.5", "exact decimals"},
		{"7 // 2", "= 3", "whole division"},
		{"-7 // 2", "= -4", "rounds down"},
		{"10 % 3", "= 1", "modulo"},
		{"-7 % 3", "= 2", "has the sign of the divisor"},
		{"7 mod -3", "= -2", "also when it is negative"},
		{"5.5 mod 2", "= 1.5", "of decimals"},
		{"50%", "= 0.5", "percent"},
		{"15% of 80", "= 12", "percent of"},
		{"200 * 10%", "= 20", "percent after an operand"},
		{"50% - 10%", "= 0.4", "percent before a sign"},
		{"10 % (3)", "= 1", "a bracket is an operand"},
		{"5!", "= 120", "factorial"},
		{"3!!", "= 720", "of a factorial"},
		{"2^3!", "= 64", "binds tighter than a power"},
		{"0!", "= 1", "of zero"},

		{"0.1 + 0.2", "= 0.3", "no binary noise"},
		{"1/3", "≈ 0.333333333333333 (exactly 1/3)", "a fraction"},
		{"1/3 * 3", "= 1", "stays exact"},
		{"2^100", "= 1267650600228229401496703205376", "large numbers"},
		{"123456789 * 987654321", "= 121932631112635269", "exact products"},
		{"100! / 98!", "= 9900", "through very large ones"},
		{"1e3 + 2.5e-1", "= 1000.25", "exponents"},
		{"0x1F + 0b101 + 0o17", "= 51", "other bases"},
		{"1,000,000 + 1", "= 1000001", "thousands with commas"},
		{"1_000", "= 1000", "with underscores"},
		{".5 + 5.", "= 5.5", "bare points"},
		{"1/7^30", "≈ 4.43668708623631e-26 (exactly 1/22539340290692258087863249)", "very small"},

		{"sqrt(16)", "= 4", "an even root is exact"},
		{"sqrt(2)^2", "≈ 2", "an uneven one is rounded"},
		{"sqrt(16/9)", "≈ 1.33333333333333 (exactly 4/3)", "of a fraction"},
		{"√16 + √9", "= 7", "the sign"},
		{"8^(1/3)", "= 2", "a power that is a root"},
		{"(-8)^(1/3)", "= -2", "an odd root of a negative number"},
		{"cbrt(-27)", "= -3", "cubic roots"},
		{"2^0.5", "≈ 1.4142135623731", "a power that is not exact"},
		{"sin(30°)", "≈ 0.5", "degrees"},
		{"sin(pi)", "≈ 0", "rounding noise is zero"},
		{"cos(0)", "≈ 1", "radians"},
		{"atan2(1, 1) * 4", "≈ 3.14159265358979", "two arguments"},
		{"deg(pi)", "≈ 180", "to degrees"},
		{"ln(e^5)", "≈ 5", "logarithm and power"},
		{"log10(1000)", "= 3", "a logarithm that comes out is exact"},
		{"log2(1/8)", "= -3", "also below one"},
		{"log(8, 2)", "= 3", "to any base"},
		{"log(100)", "= 2", "to base ten"},
		{"log10(2^1000)", "≈ 301.029995663981", "of a number that no float holds"},
		{"exp(1000)", "≈ 1.97007111401705e+434", "a power that no float holds"},
		{"floor(log10(1000))", "= 3", "rounding a logarithm"},
		{"e", "≈ 2.71828182845905", "constants"},
		{"2pi", "≈ 6.28318530717959", "a product without its sign"},
		{"2(3+4)", "= 14", "before a bracket"},
		{"(1+2)(3+4)", "= 21", "between brackets"},

		{"abs(-3)", "= 3", ""}, {"sign(-3)", "= -1", ""}, {"floor(-1.5)", "= -2", ""}, {"ceil(-1.5)", "= -1", ""},
		{"trunc(-1.5)", "= -1", ""}, {"trunc(1.9)", "= 1", ""}, {"round(2.5)", "= 3", "halves away from zero"}, {"round(-2.5)", "= -3", "on both sides"},
		{"round(2.345, 2)", "= 2.35", "decimals"}, {"round(1250, -2)", "= 1300", "hundreds"},
		{"min(3, 1, 2)", "= 1", ""}, {"max(1, 2.5)", "= 2.5", ""}, {"sum(1,2,3)", "= 6", ""}, {"avg(1, 2)", "= 1.5", ""}, {"max(1,000)", "= 1", "inside a call a comma parts"},
		{"max((1,000), 5)", "= 1000", "but not in a bracket of its own"},
		{"gcd(12, 18, 27)", "= 3", ""}, {"lcm(4, 6)", "= 12", ""}, {"lcm(0, 6)", "= 0", ""}, {"lcm(-4, 6)", "= 12", ""},
		{"ncr(49, 6)", "= 13983816", ""}, {"npr(5, 2)", "= 20", ""}, {"ncr(3, 5)", "= 0", ""}, {"pow(2, 8)", "= 256", ""}, {"factorial(5)", "= 120", ""},

		{"（３＋4）×2÷7", "= 2", "full-width forms"},
		{"3²＋2³", "= 17", "small powers"},
		{"５０％", "= 0.5", "full-width percent"},
		{"max（1，2）", "= 2", "full-width commas"},
		{"5 − 2 – 1", "= 2", "typographic signs"},
		{"3 x 4", "= 12", "the letter x"},
		{"1+1=", "= 2", "a trailing sign"},
		{"2*3＝？", "= 6", "and a full-width question"},
		{"SQRT(9) + Pi - PI", "≈ 3", "upper case"},
	} {
		got, err := compute(tt.expr)
		if err != nil || got != tt.want {
			t.Errorf("%s: %s gives %q, %v; want %q", tt.why, tt.expr, got, err, tt.want)
		}
	}
}

func TestRefuses(t *testing.T) {
	for _, tt := range []struct {
		expr, says string
		code       tool.Code
		why        string
	}{
		{"", "1 to 4000", tool.BadArgs, "nothing"},
		{"  ", "1 to 4000", tool.BadArgs, "white space"},
		{"=", "too early", tool.BadArgs, "only a sign"},
		{strings.Repeat("1+", 2000) + "1", "4001", tool.BadArgs, "too long"},
		{"2 +", "too early", tool.BadArgs, "an operand is missing"},
		{"(1", "too early", tool.BadArgs, "a bracket is open"},
		{"1)", `")" at position 2`, tool.BadArgs, "a bracket too many"},
		{"2 3", `"3" at position 3`, tool.BadArgs, "an operator is missing"},
		{"* 2", `"*" at position 1`, tool.BadArgs, "an operator in front"},
		{"$5", `'$' at position 1`, tool.BadArgs, "a character that means nothing"},
		{"１＋￥", `'￥' at position 3`, tool.BadArgs, "shown as it was written"},
		{"foo(1)", "Known are: pi, e,", tool.BadArgs, "the hint lists what is known"},
		{"__import__('os')", "", tool.BadArgs, "no way to code"},
		{"sqrt 4", "needs brackets", tool.BadArgs, "a call without brackets"},
		{"sqrt()", `")"`, tool.BadArgs, "a call without arguments"},
		{"sqrt(1, 2)", "got 2 arguments", tool.BadArgs, "too many"},
		{"ncr(5)", "got 1 arguments", tool.BadArgs, "too few"},
		{"1/0", "Division by zero", tool.BadArgs, ""},
		{"1 % 0 ", "Division by zero", tool.BadArgs, "zero after percent is an operand"},
		{"0^-1", "Division by zero", tool.BadArgs, ""},
		{"0^(-1/2)", "Division by zero", tool.BadArgs, ""},
		{"sqrt(-1)", "not real", tool.BadArgs, ""},
		{"(-1)^0.3", "not real", tool.BadArgs, ""},
		{"ln(0)", "over zero", tool.BadArgs, ""},
		{"log(-5, 2.5)", "over zero", tool.BadArgs, ""},
		{"log(5, 1)", "not 1", tool.BadArgs, ""},
		{"asin(2)", "finite", tool.BadArgs, ""},
		{"(-3)!", "factorial", tool.BadArgs, ""},
		{"2.5!", "factorial", tool.BadArgs, ""},
		{"gcd(1.5, 2)", "whole numbers", tool.BadArgs, ""},
		{"round(1, 0.5)", "decimals", tool.BadArgs, ""},
		{"1.2.3", "not", tool.BadArgs, "two points"},

		{"9^9^9", "20000 digits", tool.TooLarge, "a bomb is refused before it is computed"},
		{"9^9^9^9", "20000 digits", tool.TooLarge, "a larger one"},
		{"(1/9)^9^9", "20000 digits", tool.TooLarge, "downwards"},
		{"0.5^1e9", "20000 digits", tool.TooLarge, "in decimals"},
		{"1e999999999999", "20000 digits", tool.TooLarge, "in a number"},
		{"1e-999999999999", "20000 digits", tool.TooLarge, "in a small number"},
		{"1e20000*1e20000", "20000 digits", tool.TooLarge, "in a product"},
		{"5001!", "5000", tool.TooLarge, "a factorial"},
		{"5!!!!", "", tool.TooLarge, "of factorials"},
		{"exp(1e9)", "20000 digits", tool.TooLarge, "an exponential"},
		{"pi^1e7", "20000 digits", tool.TooLarge, "a rounded power"},
		{strings.TrimSuffix(strings.Repeat("exp(46000)*", 300), "*"), "20000 digits", tool.TooLarge, "rounded numbers, step by step"},
		{"ncr(1000000, 500000)", "20000 digits", tool.TooLarge, "selections"},
		{strings.Repeat("(", 500) + "1" + strings.Repeat(")", 500), "nested", tool.BadArgs, "brackets"},
		{strings.Repeat("-", 500) + "1", "nested", tool.BadArgs, "signs"},
		{strings.Repeat("2^", 500) + "1", "nested", tool.BadArgs, "powers"},
	} {
		_, err := compute(tt.expr)
		e, ok := errors.AsType[*tool.Error](err)
		if !ok || e.Code != tt.code || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %.40s gives %v", tt.why, tt.expr, err)
		}
	}
}

func TestTinyIsZero(t *testing.T) {
	if got, err := compute("exp(-1e9) + 1"); err != nil || got != "≈ 1" {
		t.Errorf("%q %v", got, err)
	}
}

func TestEcho(t *testing.T) {
	out, err := guest.Invoke(calculate, `{"expression":"  1 +\n 1 = ? "}`, guest.Options{})
	if err != nil || out.Text != "1 + 1 = 2" {
		t.Errorf("%q %v", out.Text, err)
	}
	out, err = guest.Invoke(calculate, fmt.Sprintf(`{"expression":"1%s"}`, strings.Repeat("+1", 150)), guest.Options{})
	if err != nil || out.Text != "result = 151" {
		t.Errorf("a long expression is not repeated: %q %v", out.Text, err)
	}
}

// TestAgainstBig: sums, differences and products of whole numbers are those
// of package big.
func TestAgainstBig(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Int64().Draw(t, "a"), rapid.Int64().Draw(t, "b")
		op := rapid.SampledFrom([]string{"+", "-", "*"}).Draw(t, "op")
		x, y, want := big.NewInt(a), big.NewInt(b), new(big.Int)
		switch op {
		case "+":
			want.Add(x, y)
		case "-":
			want.Sub(x, y)
		case "*":
			want.Mul(x, y)
		}
		got, err := compute(fmt.Sprintf("(%d) %s (%d)", a, op, b))
		if err != nil || strings.TrimLeft(got, "= ") != want.String() {
			t.Fatalf("(%d) %s (%d) gives %q, %v; want %s", a, op, b, got, err, want)
		}
	})
}

// TestAgainstMath: the series of exp and ln agree with package math.
func TestAgainstMath(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Float64Range(1e-300, 1e300).Draw(t, "x")
		got, _ := ln(newFloat().SetFloat64(x)).Float64()
		if want := math.Log(x); math.Abs(got-want) > 1e-13*math.Max(1, math.Abs(want)) {
			t.Fatalf("ln(%g) = %g, want %g", x, got, want)
		}
		y := rapid.Float64Range(-600, 600).Draw(t, "y")
		got, _ = exp(newFloat().SetFloat64(y)).Float64()
		if want := math.Exp(y); math.Abs(got-want) > 1e-12*want {
			t.Fatalf("exp(%g) = %g, want %g", y, got, want)
		}
	})
}

// TestSquareRoots: a root squared is the number, to the digits shown.
func TestSquareRoots(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(1, math.MaxInt64).Draw(t, "n")
		got, err := compute(fmt.Sprintf("round(sqrt(%d)^2)", n))
		f, errF := strconv.ParseFloat(strings.TrimLeft(got, "=≈ "), 64)
		if err != nil || errF != nil || math.Abs(f-float64(n)) > 1e-14*float64(n)+1 {
			t.Fatalf("sqrt(%d)^2 gives %q, %v", n, got, err)
		}
	})
}

func FuzzCalculate(f *testing.F) {
	for _, s := range []string{"1+2*3", "9^9^9", "sin(30°)", "1e9999", "((((", "2%%3", "5!!", "0x", "1,2,3", "√√16", "10 mod", "1e5000*sqrt(2)", "e^-1e308"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, expr string) {
		got, err := compute(expr)
		e, ok := errors.AsType[*tool.Error](err)
		if err == nil && !strings.ContainsAny(got, "=≈") || err != nil && (!ok || e.Code != tool.BadArgs && e.Code != tool.TooLarge) {
			t.Errorf("%q gives %q, %v", expr, got, err)
		}
	})
}

func BenchmarkCalculate(b *testing.B) {
	for _, expr := range []string{"1 + 2 * (3 - 4)", "1000! / 998!", "exp(ln(2) * 10)"} {
		b.Run(expr, func(b *testing.B) {
			for b.Loop() {
				if _, err := compute(expr); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
