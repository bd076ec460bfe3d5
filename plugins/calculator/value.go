package main

import (
	"math"
	"math/big"
	"strings"

	"github.com/weirhost/weir/sdk/guest"
	"github.com/weirhost/weir/sdk/tool"
)

const (
	maxDigits = 20000 // decimal digits of a numerator or denominator
	maxBits   = maxDigits * 3322 / 1000
	precision = 192 // bits of a rounded number while computing
	shown     = 15  // digits written of a rounded number
)

// A value is a number: exact as a fraction as long as every step is, and a
// rounded one after a step that cannot be. Values are never changed.
type value struct {
	rat *big.Rat   // the exact number, or nil
	flt *big.Float // the rounded one, or nil
}

// exact makes an exact value, unless it is too large to go on with.
func exact(r *big.Rat) (value, error) {
	if r.Num().BitLen() > maxBits || r.Denom().BitLen() > maxBits {
		return value{}, tooBig(tool.Text{Format: "The result", Zh: "结果"})
	}
	return value{rat: r}, nil
}

func whole(n int64) value { return value{rat: new(big.Rat).SetInt64(n)} }

// rounded makes a rounded value, unless it is too large to go on with. One
// that is too small is zero.
func rounded(f *big.Float) (value, error) {
	switch exp := f.MantExp(nil); {
	case f.IsInf() || exp > maxBits:
		return value{}, tooBig(tool.Text{Format: "The result", Zh: "结果"})
	case exp < -maxBits:
		f = newFloat()
	}
	return value{flt: f}, nil
}

// inexact is v as a rounded number.
func (v value) inexact() value { return value{flt: v.float()} }

// fromFloat takes a result of package math; what is no number is an error.
func fromFloat(f float64) (value, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return value{}, undefined("The result is not a finite number.", "结果不是有限的数。")
	}
	return rounded(newFloat().SetFloat64(f))
}

func newFloat() *big.Float { return new(big.Float).SetPrec(precision) }

func tooBig(what tool.Text) error {
	return guest.Errorf(tool.TooLarge, "Use smaller numbers, or take a logarithm.", "%s has more than %d digits.", what, maxDigits).
		Zh("请使用较小的数，或取对数。", "%s超过 %d 位。")
}

func undefined(msg, zh string) error {
	return guest.Errorf(tool.BadArgs, "", "%s", tool.Text{Format: msg, Zh: zh}).Zh("", "%s")
}

func (v value) float() *big.Float {
	if v.flt != nil {
		return v.flt
	}
	return newFloat().SetRat(v.rat)
}

func (v value) float64() float64 {
	f, _ := v.float().Float64()
	return f
}

func (v value) sign() int {
	if v.rat != nil {
		return v.rat.Sign()
	}
	return v.flt.Sign()
}

func (v value) neg() value {
	if v.rat != nil {
		return value{rat: new(big.Rat).Neg(v.rat)}
	}
	return value{flt: newFloat().Neg(v.flt)}
}

// isInt gives an exact whole number.
func (v value) isInt() (*big.Int, bool) {
	if v.rat == nil || !v.rat.IsInt() {
		return nil, false
	}
	return v.rat.Num(), true
}

func compare(a, b value) int {
	if a.rat != nil && b.rat != nil {
		return a.rat.Cmp(b.rat)
	}
	return a.float().Cmp(b.float())
}

func add(a, b value) (value, error) {
	if a.rat != nil && b.rat != nil {
		return exact(new(big.Rat).Add(a.rat, b.rat))
	}
	return rounded(newFloat().Add(a.float(), b.float()))
}

func mul(a, b value) (value, error) {
	if a.rat != nil && b.rat != nil {
		return exact(new(big.Rat).Mul(a.rat, b.rat))
	}
	return rounded(newFloat().Mul(a.float(), b.float()))
}

func div(a, b value) (value, error) {
	if b.sign() == 0 {
		return value{}, undefined("Division by zero.", "除数为零。")
	}
	if a.rat != nil && b.rat != nil {
		return exact(new(big.Rat).Quo(a.rat, b.rat))
	}
	return rounded(newFloat().Quo(a.float(), b.float()))
}

// mod has the sign of the divisor, as people and Python expect.
func mod(a, b value) (value, error) {
	q, err := div(a, b)
	if err == nil {
		q, err = floor(q)
	}
	if err == nil {
		q, err = mul(q, b)
	}
	if err != nil {
		return value{}, err
	}
	return add(a, q.neg())
}

// write writes "= 7", "= 0.25", "≈ 0.333333333333333 (exactly 1/3)" or, for
// a rounded number, "≈ 1.4142135623731".
func (v value) write(say func(en, zh string) string) string {
	if v.rat == nil {
		return "≈ " + decimal(v.flt)
	}
	if v.rat.IsInt() {
		return "= " + v.rat.Num().String()
	}
	if places, ok := decimalPlaces(v.rat.Denom()); ok {
		return "= " + strings.TrimRight(v.rat.FloatString(places), "0")
	}
	if exactly := v.rat.String(); len(exactly) <= maxEcho {
		return "≈ " + decimal(v.float()) + say(" (exactly "+exactly+")", "（精确值 "+exactly+"）")
	}
	return "≈ " + decimal(v.float())
}

// decimalPlaces counts the decimals of a fraction that ends, whose
// denominator has no factors but 2 and 5.
func decimalPlaces(denom *big.Int) (int, bool) {
	d := new(big.Int).Set(denom)
	twos := int(d.TrailingZeroBits())
	d.Rsh(d, uint(twos))
	fives := 0
	five, rest := big.NewInt(5), new(big.Int)
	for d.BitLen() > 1 {
		if d.QuoRem(d, five, rest); rest.Sign() != 0 {
			return 0, false
		}
		fives++
	}
	return max(twos, fives), max(twos, fives) <= maxDigits
}

// decimal writes a rounded number, without the noise of its last bits.
func decimal(f *big.Float) string {
	if f.Sign() == 0 {
		return "0"
	}
	exp := f.MantExp(nil)
	if exp > -20 && exp < 60 {
		s := f.Text('g', shown)
		if !strings.Contains(s, "e") {
			return s
		}
		if r, ok := new(big.Rat).SetString(s); ok {
			return trimZeros(r.FloatString(shown + 6))
		}
	}
	return f.Text('g', shown)
}

func trimZeros(s string) string { return strings.TrimSuffix(strings.TrimRight(s, "0"), ".") }
