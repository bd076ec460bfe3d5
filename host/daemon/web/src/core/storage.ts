// The browser's storage, which may be switched off.

// recall returns what is remembered; null: nothing.
export function recall(key: string): string | null {
  try { return localStorage.getItem(key); } catch { return null; }
}

// remember stores a text; null removes it.
export function remember(key: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(key);
    else localStorage.setItem(key, value);
  } catch { /* then it holds until the page is closed */ }
}
