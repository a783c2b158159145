// Parts of .onnx and .tflite files as files of their own, for runtimes that take whole files alone:
// written with nothing of ours, so that what they compute holds for the file itself.

/// Whether `name` is the value that is called `given`, of which octet inspect prints the beginning.
const isCalled = (name, given) =>
  name === given || (given.endsWith('...') && name.startsWith(given.slice(0, -3)));

/// The names among `names` that are called one of `given`, in the order of these.
const resolved = (names, given) => given.map((one) => {
  const found = names.find((name) => isCalled(name, one));
  if (found === undefined) throw new Error(`the file has no value "${one}"`);
  return found;
});

/// By position among `links` (each its inputs and outputs): whether `to` follow from it without a
/// value of `from` between.
function neededBy(links, from, to) {
  const wanted = new Set(to.filter((value) => !from.includes(value)));
  const needed = links.map(() => false);
  for (let i = links.length - 1; i >= 0; --i) {
    if (!links[i].outputs.some((value) => wanted.has(value))) continue;
    needed[i] = true;
    links[i].inputs.filter((value) => !from.includes(value)).forEach((value) => wanted.add(value));
  }
  return { needed, wanted };
}

// ONNX: messages of protobuf, of which fields are kept, left out and added.

function varint(bytes, at) {
  let [value, scale] = [0, 1];
  for (;;) {
    const byte = bytes[at++];
    value += (byte & 127) * scale;
    scale *= 128;
    if (byte < 128) return [value, at];
  }
}

/// The fields of a message: number, contents (of type 2) and all of its bytes.
function fieldsOf(bytes) {
  const fields = [];
  for (let at = 0; at < bytes.length;) {
    const begin = at;
    let [tag, length] = [0, 0];
    [tag, at] = varint(bytes, at);
    const type = tag & 7;
    if (type === 0) [, at] = varint(bytes, at);
    else if (type === 1) at += 8;
    else if (type === 5) at += 4;
    else if (type === 2) [length, at] = varint(bytes, at);
    else throw new Error(`wire type ${type}`);
    at += length;
    fields.push({ number: tag >> 3, contents: bytes.subarray(at - length, at),
      bytes: bytes.subarray(begin, at) });
  }
  return fields;
}

const textsOf = (fields, number) =>
  fields.filter((f) => f.number === number).map((f) => f.contents.toString());

/// A field of type 2.
function field(number, bytes) {
  const length = [];
  let rest = bytes.length;
  for (; rest >= 128; rest = Math.floor(rest / 128)) length.push(rest % 128 | 128);
  return Buffer.concat([Buffer.from([number << 3 | 2, ...length, rest]), bytes]);
}

const named = (name) => field(1, Buffer.from(name));
/// A value of float32, whose extents are open.
const openValue = (name) =>
  Buffer.concat([named(name), field(2, field(1, Buffer.from([1 << 3, 1])))]);

/// A file of IR version 1 or 2 states no opset, without which ONNX Runtime takes none: with opset 1.
export function withOpset(bytes) {
  if (fieldsOf(bytes).some((f) => f.number === 8)) return bytes;
  return Buffer.concat([bytes, field(8, Buffer.from([2 << 3, 1]))]);
}

/// The part of an .onnx file behind the values `from`, if there are such, up to `to`, and its ends.
export function cutOnnx(bytes, from, to) {
  const model = fieldsOf(bytes);
  const graph = fieldsOf(model.find((f) => f.number === 7).contents);
  const nodes = graph.filter((f) => f.number === 1);
  const links = nodes.map((node) => {
    const fields = fieldsOf(node.contents);
    return { inputs: textsOf(fields, 1), outputs: textsOf(fields, 2) };
  });
  const nameOf = (value) => textsOf(fieldsOf(value.contents), 1)[0];
  const values = [...graph.filter((f) => f.number === 11).map(nameOf),
    ...links.flatMap(({ outputs }) => outputs)];
  const begins = resolved(values, from);
  const ends = to.length > 0 ? resolved(values, to)
    : graph.filter((f) => f.number === 12).map(nameOf);
  const { needed, wanted } = neededBy(links, begins, ends);
  const kept = graph.filter((f) => {
    if (f.number === 1) return needed[nodes.indexOf(f)];
    if (f.number === 11) return wanted.has(nameOf(f));
    return f.number !== 12 && !(f.number === 13 && [...begins, ...ends].includes(nameOf(f)));
  });
  const part = Buffer.concat([...kept.map((f) => f.bytes),
    ...begins.map((name) => field(11, openValue(name))),
    ...ends.map((name) => field(12, openValue(name)))]);
  return { begins, ends, bytes: Buffer.concat(
    model.map((f) => (f.number === 7 ? field(7, part) : f.bytes))) };
}

// .tflite: tables of flatbuffers, whose vectors are shortened where they are, or replaced by new
// ones at the end of the file.

/// The part of a .tflite file of one graph behind the values `from`, up to `to`.
export function cutTflite(given, from, to) {
  const file = Buffer.from(given);
  const follow = (at) => at + file.readUInt32LE(at);
  /// Where field `id` of the table at `table` is; 0 where it is left out. `place` is its entry.
  const entry = (table, id) => {
    const list = table - file.readInt32LE(table);
    return 4 + 2 * id < file.readUInt16LE(list) ? list + 4 + 2 * id : 0;
  };
  const fieldAt = (table, id) => {
    const at = entry(table, id);
    const offset = at === 0 ? 0 : file.readUInt16LE(at);
    return offset === 0 ? 0 : table + offset;
  };
  const vector = (table, id) => {
    const at = fieldAt(table, id);
    if (at === 0) return [];
    const begin = follow(at);
    return Array.from({ length: file.readUInt32LE(begin) }, (_, i) => begin + 4 + 4 * i);
  };
  const integers = (table, id) => vector(table, id).map((at) => file.readInt32LE(at));
  const model = follow(0);
  const graphs = vector(model, 2);
  if (graphs.length !== 1) throw new Error('a file of several graphs');
  const graph = follow(graphs[0]);
  const names = vector(graph, 0).map((at) => {
    const text = follow(fieldAt(follow(at), 3));
    return file.subarray(text + 4, text + 4 + file.readUInt32LE(text)).toString();
  });
  const indices = (list) => resolved(names, list).map((name) => names.indexOf(name));
  const begins = indices(from);
  const ends = to.length > 0 ? indices(to) : integers(graph, 2);
  const entries = vector(graph, 3);
  const operators = entries.map(follow);
  const { needed, wanted } = neededBy(
    operators.map((op) => ({ inputs: integers(op, 1), outputs: integers(op, 2) })), begins, ends);
  const kept = operators.filter((_, i) => needed[i]);
  kept.forEach((op, i) => file.writeUInt32LE(op - entries[i], entries[i]));
  file.writeUInt32LE(kept.length, entries[0] - 4);
  const inputs = [...integers(graph, 1).filter((index) => wanted.has(index)), ...begins];
  const parts = [file];
  let size = file.length;
  const append = (id, values) => {
    const padding = -size & 3;
    const made = Buffer.alloc(padding + 4 + 4 * values.length);
    made.writeUInt32LE(values.length, padding);
    values.forEach((value, i) => made.writeInt32LE(value, padding + 4 + 4 * i));
    const at = fieldAt(graph, id);
    file.writeUInt32LE(size + padding - at, at);
    parts.push(made);
    size += made.length;
  };
  append(1, inputs);
  append(2, ends);
  // Signatures name the ends of the whole file.
  if (entry(model, 7) !== 0) file.writeUInt16LE(0, entry(model, 7));
  return Buffer.concat(parts);
}
