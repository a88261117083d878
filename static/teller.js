// Tells the server the newest of many values: the next one goes out once the last was answered, those between are skipped.

const AFTER = 50; // ms between an answer and the next value: time for what is drawn from it
const PATIENCE = 1500; // ms after which an answer that did not come is no longer waited for

export class Teller {
  constructor() {
    this.say = () => {};
    this.waiting = this.next = null;
  }

  tell(text) {
    if (this.waiting !== null) {
      this.next = text;
      return;
    }
    this.waiting = text;
    this.say(text);
    this.patience = setTimeout(() => this.ready(), PATIENCE);
  }

  answered() {
    clearTimeout(this.patience);
    if (this.waiting !== null) setTimeout(() => this.ready(), AFTER);
  }

  ready() {
    const next = this.next;
    const changed = next !== null && next !== this.waiting;
    this.waiting = this.next = null;
    if (changed) this.tell(next);
  }
}

// Keeps one object a key while Streamlit moves or remounts its element, and drops it soon after it is gone.
export function keeper(make, linger = 400) {
  const kept = new Map();
  return ({ data, parentElement, setStateValue }) => {
    let control = kept.get(data.key);
    if (!control) kept.set(data.key, (control = make(data)));
    clearTimeout(control.leaving);
    if (control.root.parentElement !== parentElement) parentElement.appendChild(control.root);
    control.teller.say = (text) => setStateValue("value", text);
    control.show(data);
    control.teller.answered();
    return () => {
      control.leaving = setTimeout(() => {
        control.root.remove();
        kept.delete(data.key);
      }, linger);
    };
  };
}
