import { render } from "preact";

/** Mounts the application into `root`: the page's `#app`, or TensorBoard's iframe. */
export function mount(root: HTMLElement): void {
  render(<main>tensortap</main>, root);
}

const page = document.getElementById("app");
if (page) mount(page);
