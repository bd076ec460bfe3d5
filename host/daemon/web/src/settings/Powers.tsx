// What this page never writes: whoever had its token could run programs, read other folders
// or learn secrets. Each has what to do on the machine instead, to copy.
import { family, t } from "../core/words";
import { Block } from "../clients/Clients";
import { Copy } from "../parts/Copy";
import { known } from "./state";

// Powers are the parts of tools.toml, each with a command or the lines to write.
const powers: [string, string][] = [
  ["servers", '[mcpServers.files]\ncommand = "npx"\nargs = ["-y", "@modelcontextprotocol/server-filesystem", "."]'],
  ["plugins", '[[plugins.folder]]\npath = "./plugins"'],
  ["grants", "weir plugin approve NAME --path GUEST=DIR"],
  ["rules", '[[approvals.rule]]\ntool = "http_request"\nargs = { method = "^GET$" }\naction = "allow"'],
  ["addresses", "weir model use openai --model NAME --base-url ADDRESS --key-env VARIABLE"],
  ["server", '[server]\naddr = "127.0.0.1:8420"'],
  ["sandbox", "[sandbox]\nparallel = 8"],
  ["tokens", "weir user add NAME"],
];

export function Powers() {
  return (
    <>
      <p>{t("powersHelp")}</p>
      <p class="row note"><span>{t("powersFile")} <code>{known.value?.schema.file}</code></span> <Copy of={() => known.value?.schema.file || ""} label={t("copyPath")} /></p>
      {powers.map(([name, text]) => (
        <section class="card" key={name} aria-label={family(`power_${name}`)}>
          <h3>{family(`power_${name}`)}</h3>
          <Block text={text} label={t(text.startsWith("weir ") ? "copyCommand" : "copyLines")} />
        </section>
      ))}
      <p class="note">{t("powersThen")}</p>
      <Block text={"weir config validate && weir reload"} label={t("copyCommand")} />
    </>
  );
}
