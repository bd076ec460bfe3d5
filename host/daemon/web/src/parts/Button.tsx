import type { ComponentChildren, JSX } from "preact";

type Props = Omit<JSX.IntrinsicElements["button"], "type"> & {
  // kind: main is the one thing to do here, danger destroys, bare has no border.
  kind?: "main" | "quiet" | "danger" | "bare";
  submit?: boolean;
  children?: ComponentChildren;
};

// Button is a button that sends no form unless it says so.
export function Button({ kind = "quiet", submit = false, class: more, ...rest }: Props) {
  return <button type={submit ? "submit" : "button"} class={`${kind} ${more || ""}`.trim()} {...rest} />;
}
