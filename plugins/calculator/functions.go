package main

import (
	"math"
	"math/big"
	"slices"
	"strings"

	"github.com/weirhost/weir/sdk/tool"
)

const many = 1000 // arguments of min, max, sum and the like

// function is a constant (max 0) or a function of min to max arguments.
type function struct {
	min, max int
	call     func(args []value) (value, error)
}

func (f function) arity() tool.Text {
	switch {
	case f.max == many:
		return tool.Text{Format: "%d or more", Zh: "至少 %d 个参数", Args: []any{f.min}}
	case f.min == f.max:
		return tool.Text{Format: "%d", Zh: " %d 个参数", Args: []any{f.min}}
	}
	return tool.Text{Format: "%d to %d", Zh: " %d 到 %d 个参数", Args: []any{f.min, f.max}}
}

// names lists the names that lookup knows, in the order shown to people.
var names = []string{
	"pi", "e", "tau", "phi", "sqrt", "cbrt", "abs", "floor", "ceil", "round", "trunc", "min", "max", "sum", "avg", "mean",
	"gcd", "lcm", "mod", "pow", "exp", "ln", "log", "log10", "log2", "sin", "cos", "tan", "asin", "acos", "atan", "atan2",
	"sinh", "cosh", "tanh", "factorial", "ncr", "npr", "sign", "rad", "deg",
}

func knownNames() string { return strings.Join(names, ", ") }

// lookup finds a constant or function by its lower-case name.
func lookup(name string) (function, bool) {
	switch name {
	case "arcsin", "arccos", "arctan":
		name = "a" + strings.TrimPrefix(name, "arc")
	case "ceiling":
		name = "ceil"
	case "comb", "choose":
		name = "ncr"
	case "perm":
		name = "npr"
	case "average":
		name = "avg"
	case "lg":
		name = "log10"
	}
	if !slices.Contains(names, name) {
		return function{}, false
	}
	if f, ok := constant(name); ok {
		return f, true
	}
	if f, ok := aggregate(name); ok {
		return f, true
	}
	if f, ok := algebra(name); ok {
		return f, true
	}
	return transcendental(name)
}

func constant(name string) (function, bool) {
	digits := map[string]string{"pi": digitsPi, "e": digitsE, "phi": digitsPhi}[name]
	if name == "tau" {
		return function{call: func([]value) (value, error) {
			pi := constantFloat(digitsPi)
			return rounded(pi.Add(pi, pi))
		}}, true
	}
	return function{call: func([]value) (value, error) { return rounded(constantFloat(digits)) }}, digits != ""
}

func aggregate(name string) (function, bool) {
	fold := func(min int, step func(a, b value) (value, error)) (function, bool) {
		return function{min, many, func(args []value) (v value, err error) {
			v = args[0]
			for _, a := range args[1:] {
				if v, err = step(v, a); err != nil {
					return value{}, err
				}
			}
			return v, nil
		}}, true
	}
	switch name {
	case "min":
		return fold(1, func(a, b value) (value, error) { return pick(compare(a, b) <= 0, a, b), nil })
	case "max":
		return fold(1, func(a, b value) (value, error) { return pick(compare(a, b) >= 0, a, b), nil })
	case "sum":
		return fold(1, add)
	case "gcd":
		return fold(2, gcd)
	case "lcm":
		return fold(2, lcm)
	case "avg", "mean":
		sum, _ := fold(1, add)
		return function{1, many, func(args []value) (value, error) {
			total, err := sum.call(args)
			if err != nil {
				return value{}, err
			}
			return div(total, whole(int64(len(args))))
		}}, true
	}
	return function{}, false
}

func pick(first bool, a, b value) value {
	if first {
		return a
	}
	return b
}

func gcd(a, b value) (value, error) {
	x, okX := a.isInt()
	y, okY := b.isInt()
	if !okX || !okY {
		return value{}, undefined("gcd and lcm need whole numbers.", "gcd 和 lcm 需要整数。")
	}
	return exact(new(big.Rat).SetInt(new(big.Int).GCD(nil, nil, new(big.Int).Abs(x), new(big.Int).Abs(y))))
}

func lcm(a, b value) (value, error) {
	g, err := gcd(a, b)
	if err != nil || g.sign() == 0 {
		return whole(0), err
	}
	product, err := mul(a, b)
	if err != nil {
		return value{}, err
	}
	if product.sign() < 0 {
		product = product.neg()
	}
	return div(product, g)
}

func algebra(name string) (function, bool) {
	one := func(f func(value) (value, error)) (function, bool) {
		return function{1, 1, func(a []value) (value, error) { return f(a[0]) }}, true
	}
	two := func(f func(a, b value) (value, error)) (function, bool) {
		return function{2, 2, func(a []value) (value, error) { return f(a[0], a[1]) }}, true
	}
	switch name {
	case "sqrt":
		return one(sqrt)
	case "cbrt":
		return one(cbrt)
	case "abs":
		return one(func(v value) (value, error) { return pick(v.sign() >= 0, v, v.neg()), nil })
	case "sign":
		return one(func(v value) (value, error) { return whole(int64(v.sign())), nil })
	case "floor":
		return one(floor)
	case "ceil":
		return one(func(v value) (value, error) {
			f, err := floor(v.neg())
			return f.negOr(err)
		})
	case "trunc":
		return one(trunc)
	case "round":
		return function{1, 2, round}, true
	case "factorial":
		return one(factorial)
	case "mod":
		return two(mod)
	case "pow":
		return two(pow)
	case "ncr":
		return two(func(n, k value) (value, error) { return choose(n, k, true) })
	case "npr":
		return two(func(n, k value) (value, error) { return choose(n, k, false) })
	}
	return function{}, false
}

// negOr is the negative, or the error that came instead of v.
func (v value) negOr(err error) (value, error) {
	if err != nil {
		return value{}, err
	}
	return v.neg(), nil
}

func floor(v value) (value, error) {
	if v.rat == nil {
		r, ok := asRat(v.flt)
		if !ok {
			return value{}, tooBig(tool.Text{Format: "The number", Zh: "该数"})
		}
		v = value{rat: r}
	}
	q, rest := new(big.Int).QuoRem(v.rat.Num(), v.rat.Denom(), new(big.Int))
	if rest.Sign() < 0 {
		q.Sub(q, big.NewInt(1))
	}
	return exact(new(big.Rat).SetInt(q))
}

// asRat reads a rounded number as a fraction, its last noisy bits dropped, so
// that floor(log10(1000)) is 3.
func asRat(f *big.Float) (*big.Rat, bool) {
	if f.MantExp(nil) > maxBits {
		return nil, false
	}
	return new(big.Rat).SetString(f.Text('g', shown))
}

func trunc(v value) (value, error) {
	if v.sign() >= 0 {
		return floor(v)
	}
	f, err := floor(v.neg())
	return f.negOr(err)
}

// round goes to the nearest, halves away from zero; the second argument is
// the number of decimals, negative for tens, hundreds and so on.
func round(args []value) (value, error) {
	places := whole(0)
	if len(args) == 2 {
		places = args[1]
	}
	n, ok := places.isInt()
	if !ok || !n.IsInt64() || n.Int64() > 1000 || n.Int64() < -1000 {
		return value{}, undefined("round needs a whole number of decimals from -1000 to 1000.", "round 的小数位数须为 -1000 到 1000 的整数。")
	}
	scale, err := powInt(big.NewRat(10, 1), n)
	if err != nil {
		return value{}, err
	}
	v, err := mul(args[0], scale)
	if err != nil {
		return value{}, err
	}
	half := value{rat: big.NewRat(1, 2)}
	if v.sign() < 0 {
		half = half.neg()
	}
	if v, err = add(v, half); err == nil {
		v, err = trunc(v)
	}
	if err != nil {
		return value{}, err
	}
	return div(v, scale)
}

// choose counts selections of k out of n, in no order or in order.
func choose(nv, kv value, unordered bool) (value, error) {
	n, okN := nv.isInt()
	k, okK := kv.isInt()
	if !okN || !okK || n.Sign() < 0 || k.Sign() < 0 || !n.IsInt64() || n.Int64() > 1e6 {
		return value{}, undefined("ncr and npr need whole numbers from 0 to 1,000,000.", "ncr 和 npr 需要 0 到 1,000,000 的整数。")
	}
	if k.Cmp(n) > 0 {
		return whole(0), nil
	}
	steps := k.Int64()
	if unordered {
		steps = min(steps, n.Int64()-steps)
	}
	r := big.NewInt(1)
	for i := int64(1); i <= steps; i++ {
		r.Mul(r, big.NewInt(n.Int64()-steps+i))
		if unordered {
			r.Quo(r, big.NewInt(i))
		}
		if r.BitLen() > maxBits {
			return value{}, tooBig(tool.Text{Format: "The number", Zh: "该数"})
		}
	}
	return exact(new(big.Rat).SetInt(r))
}

// transcendental functions work in float64: 15 digits are right.
func transcendental(name string) (function, bool) {
	if f, ok := map[string]func(float64) float64{
		"sin": math.Sin, "cos": math.Cos, "tan": math.Tan, "asin": math.Asin, "acos": math.Acos, "atan": math.Atan,
		"sinh": math.Sinh, "cosh": math.Cosh, "tanh": math.Tanh,
	}[name]; ok {
		return function{1, 1, func(a []value) (value, error) {
			return settle(f(a[0].float64()))
		}}, true
	}
	switch name {
	case "exp":
		return function{1, 1, func(a []value) (value, error) { return expOf(a[0].float()) }}, true
	case "ln":
		return function{1, 1, func(a []value) (value, error) { return logBase(a[0], nil) }}, true
	case "log2":
		return function{1, 1, func(a []value) (value, error) { return logBase(a[0], big.NewInt(2)) }}, true
	case "log10":
		return function{1, 1, func(a []value) (value, error) { return logBase(a[0], big.NewInt(10)) }}, true
	case "log":
		return function{1, 2, logAny}, true
	case "atan2":
		return function{2, 2, func(a []value) (value, error) { return settle(math.Atan2(a[0].float64(), a[1].float64())) }}, true
	case "rad":
		return function{1, 1, func(a []value) (value, error) { return radians(a[0]) }}, true
	case "deg":
		return function{1, 1, func(a []value) (value, error) { return settle(a[0].float64() * 180 / math.Pi) }}, true
	}
	return function{}, false
}

// settle takes a float64 result and reads one that is nothing but rounding
// noise, as of sin(pi), as zero.
func settle(f float64) (value, error) {
	if math.Abs(f) < 1e-15 {
		f = 0
	}
	return fromFloat(f)
}

func radians(v value) (value, error) {
	turned, err := mul(v, value{flt: constantFloat(digitsPi)})
	if err != nil {
		return value{}, err
	}
	return div(turned, whole(180))
}

// logBase is exact where the argument is a power of the base; nil: base e.
func logBase(v value, base *big.Int) (value, error) {
	if v.sign() <= 0 {
		return value{}, undefined("A logarithm needs a number over zero.", "对数需要大于零的数。")
	}
	if base == nil {
		return rounded(ln(v.float()))
	}
	l := newFloat().Quo(ln(v.float()), ln(newFloat().SetInt(base)))
	near, _ := l.Float64()
	if v.rat != nil && math.Abs(near) < maxBits {
		n := big.NewInt(int64(math.Round(near)))
		if p, err := powInt(new(big.Rat).SetInt(base), n); err == nil && p.rat.Cmp(v.rat) == 0 {
			return exact(new(big.Rat).SetInt(n))
		}
	}
	return rounded(l)
}

// logAny is log(x) to base 10, or log(x, base).
func logAny(args []value) (value, error) {
	if len(args) == 1 {
		return logBase(args[0], big.NewInt(10))
	}
	base := args[1]
	if base.sign() <= 0 || compare(base, whole(1)) == 0 {
		return value{}, undefined("A logarithm's base must be over zero and not 1.", "对数的底数必须大于零且不等于 1。")
	}
	if b, ok := base.isInt(); ok {
		return logBase(args[0], b)
	}
	if args[0].sign() <= 0 {
		return value{}, undefined("A logarithm needs a number over zero.", "对数需要大于零的数。")
	}
	return rounded(newFloat().Quo(ln(args[0].float()), ln(base.float())))
}
