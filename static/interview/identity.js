// Who this browser is to the interview room: a random secret in its own storage, told to the server and to nobody else.
// Storage of an origin is read by no other site; unlike a cookie it is not sent along with requests either.

const NAME = "surrogate-interview";
const FORM = /^[A-Za-z0-9_-]{32}$/;

function fresh() {
  const bytes = crypto.getRandomValues(new Uint8Array(24));
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_");
}

// `kept` is false where the browser refuses to store anything: then the progress lasts as long as the tab.
function identity() {
  try {
    let secret = localStorage.getItem(NAME);
    if (!FORM.test(secret ?? "")) {
      secret = fresh();
      localStorage.setItem(NAME, secret);
    }
    return { secret, kept: localStorage.getItem(NAME) === secret };
  } catch {
    return { secret: fresh(), kept: false };
  }
}

const told = new WeakSet();

export default ({ parentElement, setStateValue }) => {
  if (told.has(parentElement)) return;
  told.add(parentElement);
  setStateValue("identity", identity());
};
