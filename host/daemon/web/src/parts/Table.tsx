import type { ComponentChildren } from "preact";
import { t } from "../core/words";

// Table is a table that scrolls in its own box where the page is narrow.
export function Table({ head, rows, label, numbers = [] }: { head: ComponentChildren[]; rows: ComponentChildren[][]; label?: string; numbers?: number[] }) {
  return (
    <div class="wide-table" tabIndex={0} role="region" aria-label={label || t("table")}>
      <table>
        <thead><tr>{head.map((h, i) => <th key={i} scope="col" class={numbers.includes(i) ? "right" : ""}>{h}</th>)}</tr></thead>
        <tbody>{rows.map((row, r) => <tr key={r}>{row.map((c, i) => <td key={i} class={numbers.includes(i) ? "right" : ""}>{c}</td>)}</tr>)}</tbody>
      </table>
    </div>
  );
}
