// primes lists prime numbers, by the sieve of Eratosthenes.
export function primes({ below }) {
  const composite = new Uint8Array(below);
  const lines = [];
  let row = [];
  for (let n = 2; n < below; n++) {
    if (composite[n]) continue;
    for (let m = n * n; m < below; m += n) composite[m] = 1;
    row.push(n);
    if (row.length === 10) {
      lines.push(row.join(" "));
      row = [];
    }
  }
  if (row.length > 0) lines.push(row.join(" "));
  return lines.join("\n");
}
