// Elements as values, and the least change that makes the document show them. Text becomes text nodes and nothing else,
// so no field of a row can ever be markup.

const SVG = "http://www.w3.org/2000/svg";
const SVG_TAGS = new Set(["svg", "path", "polyline", "line", "title", "rect", "circle"]);

const shown = (node) => node !== null && node !== undefined && node !== false;

/** h("p.quiet", {…}, children…): an element, its classes, and if wanted its properties. `key` says which one it is among
 *  its siblings; `onclick` and the like listen. */
export function h(name, ...children) {
  const [tag, ...classes] = name.split("."), first = children[0];
  const given = shown(first) && typeof first === "object" && !Array.isArray(first) && !first.tag ? children.shift() : {};
  const names = [...classes, given.class].filter(Boolean).join(" ");
  return { tag, props: names ? { ...given, class: names } : given, children: children.flat(Infinity).filter(shown) };
}

/** A button; its text may be a name and what goes with it. */
export const button = (classes, onclick, text, props) => h("button" + classes, { type: "button", onclick, ...props }, text);

export function render(parent, nodes) {
  const wanted = [nodes].flat(Infinity).filter(shown);
  const keyed = new Map();
  for (const child of parent.childNodes) if (child.seriatimKey !== undefined) keyed.set(child.seriatimKey, child);
  let place = parent.firstChild;
  for (const node of wanted) {
    const found = match(place, keyed, node);
    if (found) {
      // A neighbour that goes is taken out, so that the one with the focus need not be moved.
      while (place && place !== found && !stays(place, wanted)) place = removed(place);
      if (found !== place) parent.insertBefore(found, place);
      else place = place.nextSibling;
      update(found, node);
    } else {
      parent.insertBefore(create(node), place);
    }
  }
  while (place) place = removed(place);
}

const isText = (node) => typeof node !== "object";
const keyOf = (node) => (isText(node) ? undefined : node.props.key);

function stays(child, wanted) {
  return child.seriatimKey !== undefined && wanted.some((node) => keyOf(node) === child.seriatimKey);
}

function removed(child) {
  const next = child.nextSibling;
  child.remove();
  return next;
}

function match(place, keyed, node) {
  const key = keyOf(node);
  if (key !== undefined) {
    const found = keyed.get(key);
    return found && found.localName === node.tag ? found : null;
  }
  if (!place || place.seriatimKey !== undefined) return null;
  if (isText(node)) return place.nodeType === Node.TEXT_NODE ? place : null;
  return place.localName === node.tag ? place : null;
}

function create(node) {
  if (isText(node)) return document.createTextNode(String(node));
  const element = SVG_TAGS.has(node.tag) ? document.createElementNS(SVG, node.tag) : document.createElement(node.tag);
  if (node.props.key !== undefined) element.seriatimKey = node.props.key;
  element.seriatimProps = {};
  update(element, node);
  return element;
}

function update(element, node) {
  if (isText(node)) {
    if (element.data !== String(node)) element.data = String(node);
    return;
  }
  const before = element.seriatimProps;
  if (before === undefined) return;
  for (const name in before) if (!(name in node.props)) set(element, name, undefined, before[name]);
  for (const name in node.props) if (before[name] !== node.props[name]) set(element, name, node.props[name], before[name]);
  element.seriatimProps = node.props;
  render(element, node.children);
}

function set(element, name, value, before) {
  if (name === "key" || name === "ref") {
    if (name === "ref" && value && !before) value(element);
  } else if (name.startsWith("on")) {
    if (!before) element.addEventListener(name.slice(2), listen);
  } else if (name === "value") {
    if (element.value !== value) element.value = value ?? "";
  } else if (value === undefined || value === null || value === false) {
    element.removeAttribute(name);
  } else {
    element.setAttribute(name, value === true ? "" : value);
  }
}

// One listener for each kind of event; it asks what is wanted now.
function listen(event) {
  const wanted = this.seriatimProps["on" + event.type];
  if (wanted) wanted(event);
}
