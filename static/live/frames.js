// Reading the server's frames: Float32 [epoch, full, total, width, rows...], and packs (a JSON header before a frame).

const HEADER = 4;

export function decode(buffer) {
  const numbers = new Float32Array(buffer);
  const [epoch, full, total, width] = numbers;
  return { epoch, full: full === 1, total, width, rows: numbers.subarray(HEADER) };
}

export function unpack(bytes) {
  const copy = bytes.slice(); // aligned to four bytes, wherever it stood
  const length = new DataView(copy.buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(copy.subarray(4, 4 + length)));
  return { header, rest: copy.subarray(4 + length) };
}
