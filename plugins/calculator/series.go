package main

import (
	"math"
	"math/big"

	"github.com/weirhost/weir/sdk/tool"
)

// Constants to more digits than precision holds.
const (
	digitsPi  = "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798"
	digitsE   = "2.71828182845904523536028747135266249775724709369995957496696762772407663035354759457138217852516642743"
	digitsLn2 = "0.693147180559945309417232121458176568075500134360255254120680009493393621969694715605863326996418687542"
	digitsPhi = "1.61803398874989484820458683436563811772030917980576286213544862270526046281890244970720720418939113748"
)

// constantFloat reads one of the constants above.
func constantFloat(digits string) *big.Float {
	f, _ := newFloat().SetString(digits)
	return f
}

// expOf is e to the power of f. It is right to more digits than are shown,
// for every size that can be written: float64 ends at e^709.
func expOf(f *big.Float) (value, error) {
	x, _ := f.Float64()
	switch {
	case x > maxDigits*math.Ln10:
		return value{}, tooBig(tool.Text{Format: "The power", Zh: "幂"})
	case x < -maxDigits*math.Ln10:
		return whole(0).inexact(), nil
	}
	return rounded(exp(f))
}

// exp takes whole powers of two out, halves what is left until the series is
// short, and squares the sum as often again.
func exp(x *big.Float) *big.Float {
	const halvings = 12
	ln2 := constantFloat(digitsLn2)
	ratio, _ := newFloat().Quo(x, ln2).Float64()
	twos := int(math.Round(ratio))
	rest := newFloat().Sub(x, newFloat().Mul(ln2, newFloat().SetInt64(int64(twos))))
	rest.SetMantExp(rest, -halvings)

	sum, term := newFloat().SetInt64(1), newFloat().SetInt64(1)
	for n := int64(1); n < 100 && term.Sign() != 0 && term.MantExp(nil) > -precision; n++ {
		term.Mul(term, rest).Quo(term, newFloat().SetInt64(n))
		sum.Add(sum, term)
	}
	for range halvings {
		sum.Mul(sum, sum)
	}
	return newFloat().SetMantExp(sum, twos)
}

// ln is the natural logarithm of a positive number of any size: float64 gives
// the first digits, and each step of Halley's method trebles them.
func ln(x *big.Float) *big.Float {
	mant := newFloat()
	twos := x.MantExp(mant)
	m, _ := mant.Float64()
	y := newFloat().SetFloat64(math.Log(m))
	for range 2 {
		e := exp(y)
		step := newFloat().Quo(newFloat().Sub(mant, e), newFloat().Add(mant, e))
		y.Add(y, step.Add(step, step))
	}
	return y.Add(y, newFloat().Mul(constantFloat(digitsLn2), newFloat().SetInt64(int64(twos))))
}
