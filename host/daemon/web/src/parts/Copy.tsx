import { useState } from "preact/hooks";
import { tell } from "../core/speech";
import { t } from "../core/words";
import { Button } from "./Button";

// Copy copies a text to the clipboard and says that it did. of returns the text, which may
// have to be loaded first.
export function Copy({ of, label, kind = "quiet" }: { of: () => string | Promise<string>; label?: string; kind?: "quiet" | "bare" }) {
  const [done, setDone] = useState("");
  const copy = async () => {
    let said = t("copied");
    try { await navigator.clipboard.writeText(await of()); } catch { said = t("copyFailed"); }
    setDone(said);
    tell(said);
    setTimeout(() => setDone(""), 2000);
  };
  return <Button kind={kind} onClick={copy}>{done || label || t("copy")}</Button>;
}
