// The arguments of a call as a table: of those that come from a result, where they come from.
import type { ScriptSource } from "../api";
import { json, shown } from "../core/format";
import { to } from "../core/route";
import { Foreign } from "./Foreign";

const most = 1000; // characters of a value

export function Arguments({ args, sources }: { args: Record<string, unknown>; sources: ScriptSource[] }) {
  const deep = sources.filter((s) => !(s.argument in args)); // at JSON pointers
  return (
    <dl class="facts">
      {[...Object.entries(args), ...deep.map((s) => [s.argument, ""] as const)].map(([name, value]) => {
        const from = sources.find((s) => s.argument === name);
        return [
          <dt key={name}>{shown(name)}</dt>,
          <dd key={`${name} `}>{from ? <>{from.uuid ? <a href={to("results", [from.uuid])}><Foreign text={from.from} /></a> : <Foreign text={from.from} />}</> : <code><Foreign text={typeof value === "string" ? value : json(value)} max={most} /></code>}</dd>,
        ];
      })}
    </dl>
  );
}
