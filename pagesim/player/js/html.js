// HTML elements.

/** An HTML element; strings among the children become text nodes, never markup. */
export function html(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(key, value);
    else if (value !== null && value !== false) node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children);
  return node;
}

/** A button: its name is what can be read on it, or if that is a sign alone what it does. */
export const button = (action, text, label, click) => {
  const name = /[a-z]/i.test(text) ? null : label;
  return html("button", { type: "button", "data-action": action, "aria-label": name, title: label, click }, text);
};
