import { Component, type ComponentType, createElement } from "preact";

// memo returns a component that is rendered again only if its props are not the same.
export function memo<P extends object>(render: (props: P) => preact.ComponentChild, same: (a: P, b: P) => boolean): ComponentType<P> {
  return class Memo extends Component<P> {
    shouldComponentUpdate(next: P) { return !same(this.props, next); }
    render() { return createElement(render as never, this.props as never); }
  } as unknown as ComponentType<P>;
}
