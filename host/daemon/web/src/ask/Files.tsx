// The pictures and other files of a result. A picture is drawn here: it is asked for with
// the session's key, which an <img> cannot send, and becomes a data: address.
import { useEffect, useState } from "preact/hooks";
import type { ToolPart } from "../api";
import { api, type Problem, told } from "../core/daemon";
import { num, shown } from "../core/format";
import { fileName, save } from "../core/save";
import { t } from "../core/words";
import { Button } from "../parts/Button";

// most is how large a picture may be to be drawn unasked, in bytes.
const most = 16 << 20;

export function Files({ uuid, files }: { uuid: string; files: ToolPart[] }) {
  return <div class="files">{files.map((f, n) => <File key={n} uuid={uuid} n={n} file={f} />)}</div>;
}

function File({ uuid, n, file }: { uuid: string; n: number; file: ToolPart }) {
  const [picture, draw] = useState(""), [trouble, say] = useState("");
  const path = `api/archives/${uuid}/parts/${n}`, name = shown(file.name || `part-${n}`);
  const title = t("fileOf", { name, type: shown(file.mime), n: num(file.bytes) });
  useEffect(() => {
    let gone = false;
    if (file.mime.startsWith("image/") && file.bytes <= most)
      api(path).then(async (res) => {
        if (!res.headers.get("Content-Type")?.startsWith("image/")) return;
        const address = await asData(await res.blob());
        if (!gone) draw(address);
      }).catch((err: Problem) => { if (!gone) say(told(err)); });
    return () => { gone = true; };
  }, [path]);
  const keep = () => { api(path).then((res) => save(res, fileName(name, `part-${n}`))).catch((err: Problem) => say(told(err))); };
  return (
    <figure>
      {picture && <img src={picture} alt={name} />}
      <figcaption><span class="note">{title}</span> <Button onClick={keep}>{t("download")}</Button></figcaption>
      {trouble && <p class="note">{trouble}</p>}
    </figure>
  );
}

const asData = (b: Blob): Promise<string> => new Promise((done, fail) => {
  const r = new FileReader();
  r.onload = () => done(String(r.result));
  r.onerror = () => fail(r.error);
  r.readAsDataURL(b);
});
