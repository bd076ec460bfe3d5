// The log-in of a browser: with the token that weir printed.
import { useSignal } from "@preact/signals";
import { logIn, refused } from "./core/daemon";
import { lang, switchLanguage, t } from "./core/words";
import { Button } from "./parts/Button";

export function LogIn() {
  const typed = useSignal("");
  return (
    <main class="login">
      <form onSubmit={(e) => { e.preventDefault(); logIn({ token: typed.value.trim() }); }}>
        <p class="brand"><img src="icon.svg" alt="" width="28" height="28" /> weir</p>
        <h1>{t("loginTitle")}</h1>
        <p>{t("loginHelp")}</p>
        <label for="token">{t("token")}</label>
        <input id="token" type="password" autocomplete="current-password" required value={typed.value} ref={(n) => { if (n && !typed.peek()) n.focus(); }} onInput={(e) => { typed.value = e.currentTarget.value; }} />
        <p class="bad" role="alert">{refused.value}</p>
        <div class="row"><Button kind="main" submit>{t("login")}</Button><span class="space" /><Button kind="bare" lang={lang.value === "zh" ? "en" : "zh-CN"} onClick={switchLanguage}>{t("otherLanguage")}</Button></div>
      </form>
    </main>
  );
}
