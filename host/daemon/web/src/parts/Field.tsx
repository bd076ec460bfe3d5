import type { ComponentChildren, JSX, TargetedEvent } from "preact";
import { useId } from "preact/hooks";

type Props = JSX.IntrinsicElements["input"] & {
  label: ComponentChildren;
  // hideLabel shows the label to screen readers alone; the placeholder then says it.
  hideLabel?: boolean;
  help?: ComponentChildren;
};

// Field is an input with its label and, below it, what helps to fill it in.
export function Field({ label, hideLabel, help, class: more, ...rest }: Props) {
  const own = useId(), id = (rest.id as string | undefined) || own;
  return (
    <span class={`field ${more || ""}`}>
      <label for={id} class={hideLabel ? "unseen" : ""}>{label}</label>
      <input autocomplete="off" spellcheck={false} aria-describedby={help ? `${id}-help` : undefined} {...rest} id={id} />
      {help && <small id={`${id}-help`}>{help}</small>}
    </span>
  );
}

// Tick is a checkbox with its label.
export function Tick({ label, checked, onChange }: { label: ComponentChildren; checked: boolean; onChange: (e: TargetedEvent<HTMLInputElement>) => void }) {
  const id = useId();
  return <span class="tick"><input type="checkbox" id={id} checked={checked} onChange={onChange} /><label for={id}>{label}</label></span>;
}

// Choice is a list of options with its label.
export function Choice({ label, hideLabel, options, ...rest }: JSX.IntrinsicElements["select"] & { label: string; hideLabel?: boolean; options: { value: string; text: string }[] }) {
  const id = useId();
  return (
    <span class="field">
      <label for={id} class={hideLabel ? "unseen" : ""}>{label}</label>
      <select id={id} {...rest}>{options.map((o) => <option key={o.value} value={o.value} selected={o.value === rest.value}>{o.text}</option>)}</select>
    </span>
  );
}
