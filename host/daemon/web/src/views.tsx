// The views of the page, in the order of the rail. A view is added here, with its name in
// words/base.ts (view_NAME), its folder, its texts and its styles: see docs/page.md.
import type { ComponentType } from "preact";
import { Account } from "./account/Account";
import { Ask } from "./ask/Ask";
import { Clients } from "./clients/Clients";
import { Plugins } from "./plugins/Plugins";
import { Results } from "./results/Results";
import { Scripts } from "./scripts/Scripts";
import { Settings } from "./settings/Settings";
import { Tools } from "./tools/Tools";
import { Traces } from "./traces/Traces";

export interface View {
  name: string; // of its address and its icon
  View: ComponentType;
  operator?: boolean; // the operator alone
  low?: boolean; // at the foot of the rail
  hidden?: boolean; // no entry leads to it
  first?: boolean; // in the bar of a phone, which has room for few
}

export const views: View[] = [
  { name: "ask", View: Ask, first: true },
  { name: "results", View: Results, first: true },
  { name: "tools", View: Tools },
  { name: "plugins", View: Plugins, operator: true, first: true },
  { name: "scripts", View: Scripts },
  { name: "traces", View: Traces },
  { name: "clients", View: Clients, operator: true },
  { name: "settings", View: Settings, operator: true, low: true },
  { name: "account", View: Account, low: true },
];
