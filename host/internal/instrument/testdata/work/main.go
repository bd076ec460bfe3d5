// Command work is a guest that computes, for benchmarks.
package main

import (
	"slices"
	"strconv"
	"strings"
)

//go:wasmexport primes
func primes(n int32) int32 {
	count := int32(0)
next:
	for i := int32(2); i < n; i++ {
		for j := int32(2); j*j <= i; j++ {
			if i%j == 0 {
				continue next
			}
		}
		count++
	}
	return count
}

//go:wasmexport sum
func sum(n int32) int32 {
	s := make([]int32, 1024)
	for i := range n {
		s[i%1024] += i
	}
	return s[7]
}

//go:wasmexport fib
func fib(n int32) int32 {
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2)
}

//go:wasmexport words
func words(n int32) int32 {
	var b strings.Builder
	for i := range n {
		b.WriteString(strconv.Itoa(int(i * 7919 % 1009)))
		b.WriteByte(' ')
	}
	all := strings.Fields(b.String())
	slices.Sort(all)
	counts := map[string]int{}
	for _, w := range all {
		counts[w]++
	}
	return int32(len(counts))
}

func main() {}
