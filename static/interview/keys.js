// Keys for what has no shortcut of its own in Streamlit: digits tick lines of the rubric, a letter goes to the answer,
// Ctrl+Enter in the answer sends it. Any other key typed into a field stays in the field.

function typing(target) {
  return target instanceof Element && target.closest("textarea, select, [contenteditable], input:not([type=checkbox])");
}

const inside = (name, what) => document.querySelector(`.st-key-${CSS.escape(name)} ${what}`);

const mounts = new Map(); // element -> its bindings; an old element may linger beside a new one for a moment

function press(event) {
  if (event.altKey || event.isComposing) return;
  const modified = event.ctrlKey || event.metaKey;
  const field = typing(event.target);
  const key = (modified ? "ctrl+" : "") + event.key.toLowerCase();
  for (const bindings of [...mounts.values()].reverse()) {
    if (bindings[key] && obey(bindings[key], event, field)) return;
  }
}

// True where the binding's field is on the page and the key was meant for it.
function obey([what, name, button], event, field) {
  if (field && what !== "send") return false;
  const found = inside(name, ":is(input, textarea)");
  if (!found) return false;
  if (what === "send") {
    if (field !== found) return false;
    found.blur(); // which hands the text over, before the button is pressed
    setTimeout(() => inside(button, "button")?.click(), 0);
  } else if (what === "focus") found.focus();
  else found.click();
  event.preventDefault();
  event.stopPropagation();
  return true;
}

const LINGER = 400; // ms that keys outlive their element, since a remount follows an unmount at once

export default ({ data, parentElement }) => {
  const mine = { ...data.bindings };
  mounts.set(parentElement, mine);
  parentElement.dataset.keys = Object.keys(mine).join(" ");
  document.addEventListener("keydown", press, true); // adding it twice changes nothing
  return () => {
    setTimeout(() => {
      if (mounts.get(parentElement) === mine) mounts.delete(parentElement);
      if (!mounts.size) document.removeEventListener("keydown", press, true);
    }, LINGER);
  };
};
