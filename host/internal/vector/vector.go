// Package vector compares vectors of embedding models, as they are stored.
package vector

import (
	"encoding/binary"
	"math"
	"slices"
)

// Bytes returns a vector of length 1 as it is stored: float32 in little endian. It
// returns nil if the vector has no direction.
func Bytes(v []float32) []byte {
	v = slices.Clone(v)
	if !Normalise(v) {
		return nil
	}
	blob := make([]byte, 0, 4*len(v))
	for _, x := range v {
		blob = binary.LittleEndian.AppendUint32(blob, math.Float32bits(x))
	}
	return blob
}

// Normalise makes the length of v 1. It reports whether v has a direction.
func Normalise(v []float32) bool {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	length := math.Sqrt(sum)
	if !(length > 0) || math.IsInf(length, 0) {
		return false
	}
	for i := range v {
		v[i] = float32(float64(v[i]) / length)
	}
	return true
}

// Dot returns the product of a vector and a stored one of the same length.
func Dot(q []float32, blob []byte) float64 {
	var a, b, c, d float32
	i := 0
	for ; i+4 <= len(q); i += 4 {
		four := blob[4*i : 4*i+16 : 4*i+16]
		a += q[i] * math.Float32frombits(binary.LittleEndian.Uint32(four))
		b += q[i+1] * math.Float32frombits(binary.LittleEndian.Uint32(four[4:]))
		c += q[i+2] * math.Float32frombits(binary.LittleEndian.Uint32(four[8:]))
		d += q[i+3] * math.Float32frombits(binary.LittleEndian.Uint32(four[12:]))
	}
	for ; i < len(q); i++ {
		a += q[i] * math.Float32frombits(binary.LittleEndian.Uint32(blob[4*i:]))
	}
	return float64(a) + float64(b) + float64(c) + float64(d)
}
