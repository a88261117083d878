// Keys for what has no shortcut of its own in Streamlit: digits tick lines of the rubric, a letter goes to the answer.
// A key typed into a field stays in the field.

function typing(target) {
  return target instanceof Element && target.closest("textarea, select, [contenteditable], input:not([type=checkbox])");
}

let bindings = {};
let holder = null; // the mount whose bindings are in force

function press(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || typing(event.target)) return;
  const bound = bindings[event.key.toLowerCase()];
  if (!bound) return;
  const [what, name] = bound;
  const found = document.querySelector(`.st-key-${CSS.escape(name)} :is(input, textarea)`);
  if (!found) return;
  event.preventDefault();
  if (what === "focus") found.focus();
  else found.click();
}

export default ({ data }) => {
  const mine = (holder = {});
  bindings = data.bindings;
  document.addEventListener("keydown", press); // adding it twice changes nothing
  return () => {
    if (holder === mine) document.removeEventListener("keydown", press);
  };
};
