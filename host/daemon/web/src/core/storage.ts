// The browser's storage, which may be switched off: that of all tabs, or of this one alone.

const storage = (own: boolean): Storage => (own ? sessionStorage : localStorage);

// recall returns what is remembered; null: nothing.
export function recall(key: string, own = false): string | null {
  try { return storage(own).getItem(key); } catch { return null; }
}

// remember stores a text; null removes it.
export function remember(key: string, value: string | null, own = false): void {
  try {
    if (value === null) storage(own).removeItem(key);
    else storage(own).setItem(key, value);
  } catch { /* then it holds until the page is closed */ }
}
