// A clock that counts down in the browser, so that the server need not tick. The server says how much is left whenever
// it draws the page; what passes in between is measured here.

const clocks = new WeakMap();

export default ({ data, parentElement }) => {
  let clock = clocks.get(parentElement);
  if (!clock) {
    const face = Object.assign(document.createElement("div"), { className: "interview-clock" });
    face.setAttribute("role", "timer");
    parentElement.append(face);
    clocks.set(parentElement, (clock = { face, stamp: null }));
  }
  if (clock.stamp !== data.stamp) {
    clock.stamp = data.stamp;
    clock.ends = performance.now() + 1000 * data.left;
  }
  clearInterval(clock.beat);
  const show = () => {
    const left = data.running ? (clock.ends - performance.now()) / 1000 : data.left;
    const whole = Math.ceil(Math.abs(left) - (left < 0 ? 1 : 0));
    const text = `${String(Math.floor(whole / 60)).padStart(2, "0")}:${String(whole % 60).padStart(2, "0")}`;
    clock.face.textContent = left > 0 ? `${text} ${data.words}` : `${data.over} (+${text})`;
    clock.face.dataset.state = !data.running ? "stopped" : left > data.warn ? "fine" : left > 0 ? "soon" : "over";
  };
  show();
  if (data.running) clock.beat = setInterval(show, 250);
  return () => clearInterval(clock.beat);
};
