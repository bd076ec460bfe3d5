package main

import (
	"math"
	"math/big"

	"github.com/weirhost/weir/sdk/guest"
	"github.com/weirhost/weir/sdk/tool"
)

const (
	maxFactorial = 5000
	maxRoot      = 64 // the highest root that is tried exactly
)

// pow is exact for whole exponents and for roots that come out even.
func pow(base, exponent value) (value, error) {
	if n, ok := exponent.isInt(); ok && base.rat != nil {
		return powInt(base.rat, n)
	}
	if base.sign() == 0 {
		if exponent.sign() < 0 {
			return value{}, undefined("Division by zero: 0 to a negative power.", "除数为零：0 的负数次幂。")
		}
		return base, nil
	}
	if v, ok, err := rootPower(base, exponent); ok || err != nil {
		return v, err
	}
	if base.sign() < 0 {
		if n := exponent.float64(); n != math.Trunc(n) {
			return value{}, undefined("A negative number to a power that is no whole number is not real.", "负数的非整数次幂不是实数。")
		}
		v, err := pow(base.neg(), exponent)
		if err == nil && math.Mod(exponent.float64(), 2) != 0 {
			v = v.neg()
		}
		return v, err
	}
	return expOf(newFloat().Mul(exponent.float(), ln(base.float())))
}

// powInt refuses a result that would be too large before computing it.
func powInt(base *big.Rat, n *big.Int) (value, error) {
	size := max(base.Num().BitLen(), base.Denom().BitLen())
	switch {
	case base.Sign() == 0 && n.Sign() < 0:
		return value{}, undefined("Division by zero: 0 to a negative power.", "除数为零：0 的负数次幂。")
	case base.Sign() == 0 && n.Sign() > 0:
		return whole(0), nil
	case size == 1: // 1 or -1
		if n.Bit(0) == 0 {
			return whole(1), nil
		}
		return value{rat: base}, nil
	}
	if !n.IsInt64() || new(big.Int).Mul(new(big.Int).Abs(n), big.NewInt(int64(size-1))).Cmp(big.NewInt(maxBits)) > 0 {
		return value{}, tooBig(tool.Text{Format: "The power", Zh: "幂"})
	}
	e := new(big.Int).Abs(n)
	r := new(big.Rat).SetFrac(new(big.Int).Exp(base.Num(), e, nil), new(big.Int).Exp(base.Denom(), e, nil))
	if n.Sign() < 0 {
		r.Inv(r)
	}
	return exact(r)
}

// rootPower tries base^(p/q) as an exact root; false: it does not come out.
func rootPower(base, exponent value) (value, bool, error) {
	if base.rat == nil || exponent.rat == nil {
		return value{}, false, nil
	}
	q := exponent.rat.Denom()
	if !q.IsInt64() || q.Int64() > maxRoot || base.sign() < 0 && q.Bit(0) == 0 {
		return value{}, false, nil
	}
	num, okN := root(base.rat.Num(), int(q.Int64()))
	den, okD := root(base.rat.Denom(), int(q.Int64()))
	if !okN || !okD {
		return value{}, false, nil
	}
	v, err := powInt(new(big.Rat).SetFrac(num, den), exponent.rat.Num())
	return v, true, err
}

// root gives the whole n-th root of x if there is one.
func root(x *big.Int, n int) (*big.Int, bool) {
	if x.Sign() < 0 {
		r, ok := root(new(big.Int).Neg(x), n)
		return new(big.Int).Neg(r), ok
	}
	// Newton's steps fall towards the root from above.
	degree, one := big.NewInt(int64(n)), big.NewInt(1)
	less := new(big.Int).Sub(degree, one)
	r := new(big.Int).Lsh(one, uint(x.BitLen()/n+1))
	for {
		step := new(big.Int).Exp(r, less, nil)
		step.Quo(x, step)
		step.Add(step, new(big.Int).Mul(less, r)).Quo(step, degree)
		if step.Cmp(r) >= 0 {
			break
		}
		r = step
	}
	return r, new(big.Int).Exp(r, degree, nil).Cmp(x) == 0
}

func sqrt(v value) (value, error) {
	if v.sign() < 0 {
		return value{}, undefined("The square root of a negative number is not real.", "负数的平方根不是实数。")
	}
	if r, ok, err := rootPower(v, value{rat: big.NewRat(1, 2)}); ok || err != nil {
		return r, err
	}
	return rounded(newFloat().Sqrt(v.float()))
}

func cbrt(v value) (value, error) {
	third := value{rat: big.NewRat(1, 3)}
	if v.sign() < 0 {
		r, err := pow(v.neg(), third)
		if err != nil {
			return value{}, err
		}
		return r.neg(), nil
	}
	return pow(v, third)
}

func factorial(v value) (value, error) {
	n, ok := v.isInt()
	if !ok || n.Sign() < 0 {
		return value{}, undefined("A factorial needs a whole number that is not negative.", "阶乘需要非负整数。")
	}
	if !n.IsInt64() || n.Int64() > maxFactorial {
		return value{}, guest.Errorf(tool.TooLarge, "Use a smaller number.", "A factorial of more than %d is too large.", maxFactorial).
			Zh("请使用较小的数。", "大于 %d 的数的阶乘太大。")
	}
	return exact(new(big.Rat).SetInt(new(big.Int).MulRange(1, n.Int64())))
}
