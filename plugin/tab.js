// The tab's entry: TensorBoard opens an empty iframe whose base is this folder and calls render().
// It puts the page of index.html into that document, so that both ways of opening tensortap run the same files.

export async function render() {
  const answer = await fetch("index.html");
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  document.title = page.title;
  document.documentElement.lang = "en";
  for (const attribute of page.documentElement.attributes) {
    document.documentElement.setAttribute(attribute.name, attribute.value);
  }
  const scripts = [...page.querySelectorAll("script[src]")];
  for (const script of scripts) script.remove();
  await Promise.all([...page.head.querySelectorAll("link[rel=stylesheet], link[rel=icon]")].map(adopt));
  document.body.replaceChildren(...[...page.body.childNodes].map((node) => document.adoptNode(node)));
  for (const script of scripts) await import(new URL(script.getAttribute("src"), document.baseURI));
}

// A style sheet is waited for, because the page measures itself when it starts.
function adopt(link) {
  const copy = document.createElement("link");
  for (const { name, value } of link.attributes) {
    if (name !== "crossorigin") copy.setAttribute(name, value);
  }
  const loaded = new Promise((resolve) => {
    copy.onload = copy.onerror = resolve;
    if (copy.rel !== "stylesheet") resolve();
  });
  document.head.append(copy);
  return loaded;
}
