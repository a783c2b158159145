// The cases that make_interop_cases wrote, and the one comparison that all runtimes share.
import fs from 'node:fs';
import path from 'node:path';

const arrays = {
  float32: Float32Array, int8: Int8Array, uint8: Uint8Array, int16: Int16Array,
};

/// The command line of every script here: FOLDER_OF_CASES FOLDER_OF_PACKAGES.
export function readArguments() {
  const [cases, packages] = process.argv.slice(2);
  if (!packages) {
    console.error(`usage: ${path.basename(process.argv[1])} CASES PACKAGES`);
    process.exit(2);
  }
  return { ...readCases(cases), packages: path.resolve(packages, 'node_modules') };
}

/// {images, cases}; data is in place of the parts of cases.bin.
function readCases(folder) {
  const { buffer, byteOffset, length } = fs.readFileSync(path.join(folder, 'cases.bin'));
  const bytes = byteOffset % 8 === 0 ? buffer : buffer.slice(byteOffset, byteOffset + length);
  const start = byteOffset % 8 === 0 ? byteOffset : 0;
  const part = ([begin, end]) => new Uint8Array(bytes, start + begin, end - begin);
  const index = JSON.parse(fs.readFileSync(path.join(folder, 'cases.json'), 'utf8'));
  const numbers = (tensor) => {
    const raw = part(tensor.data);
    const Numbers = arrays[tensor.dtype];
    const data = new Numbers(raw.buffer, raw.byteOffset, raw.length / Numbers.BYTES_PER_ELEMENT);
    return { ...tensor, data };
  };
  const output = (tensor) => ({
    ...numbers(tensor),
    reference: tensor.reference && numbers({ ...tensor, data: tensor.reference }).data,
  });
  const cases = index.cases.map((c) => ({
    ...c,
    model: part(c.model),
    input: numbers(c.input),
    outputs: c.outputs.map(output),
    onnx: c.onnx && {
      ...c.onnx,
      exact: part(c.onnx.exact),
      standard: part(c.onnx.standard),
      standardAlone: part(c.onnx.standard_alone),
      input: numbers(c.onnx.input),
      codes: c.onnx.codes.map(numbers),
      packed: c.onnx.packed?.map((form) => ({
        exact: part(form.exact),
        standard: part(form.standard),
      })),
    },
  }));
  return { images: index.images, cases };
}

export const bytesOf = (a) => new Uint8Array(a.buffer, a.byteOffset, a.byteLength);

/// Bytes of `found` that are not those of `expected`, from its element `at` on.
export function differingBytes(found, expected, at = 0) {
  const a = bytesOf(found);
  const b = bytesOf(expected).subarray(at * expected.BYTES_PER_ELEMENT);
  if (b.length < a.length) throw new Error(`${a.length} bytes found, ${b.length} expected`);
  let count = 0;
  for (let i = 0; i < a.length; ++i) count += a[i] !== b[i];
  return count;
}

/// Runs every case sample by sample through a .tflite runtime; prints one line, and one more for
/// each case that fails; returns the exit code. `open(model, case)` gives a function that takes
/// the numbers of one sample and returns those of every output, and delete() to end it. With
/// `reference`, layers with a scale per channel are expected as TensorFlow Lite's reference kernel
/// computes them.
export async function compareTflite(runtime, { cases, images }, open, { reference = false } = {}) {
  const total = { models: 0, samples: 0, bytes: 0, differing: 0, beside: 0 };
  const control = { models: 0, samples: 0, bytes: 0, differing: 0, beside: 0 };
  let failed = 0;
  for (const c of cases) {
    const found = await runCase(c, open, reference);
    const sums = c.differs ? control : total;
    sums.models += 1;
    sums.samples += c.samples;
    for (const key of ['bytes', 'differing', 'beside']) sums[key] += found[key];
    if (c.differs ? found.differing === 0 : found.differing > 0) {
      failed += 1;
      console.error(`${runtime}: ${c.name}: ${found.differing} of ${found.bytes} bytes differ, ` +
        `expected ${c.differs ? 'some, since the rounding contract is another' : 'none'}`);
    }
  }
  console.log(`${runtime}: ${total.models} models, ${total.samples} samples (${images}, random ` +
    `nets), ${total.bytes} bytes: ${total.differing} differ` +
    (reference ? ` (${total.beside} from contract fp32, by the reference kernel)` : '') +
    `; control, contract double: ${control.differing} of ${control.bytes} differ`);
  if (control.models === 0 || total.models < 200) {
    console.error(`${runtime}: too few cases`);
    failed += 1;
  }
  return failed === 0 ? 0 : 1;
}

/// `differing` bytes from what is expected, `beside` from contract fp32.
async function runCase(c, open, reference) {
  const session = await open(c.model, c);
  const size = c.input.data.length / c.samples;
  const sums = { bytes: 0, differing: 0, beside: 0 };
  for (let i = 0; i < c.samples; ++i) {
    const found = await session.run(c.input.data.subarray(i * size, (i + 1) * size));
    if (found.length !== c.outputs.length) throw new Error(`${c.name}: ${found.length} outputs`);
    found.forEach((values, k) => {
      const output = c.outputs[k];
      if (values.byteLength !== output.size * output.data.BYTES_PER_ELEMENT) {
        throw new Error(`${c.name}: output ${k} has ${values.byteLength} bytes`);
      }
      const expected = (reference && output.reference) || output.data;
      sums.bytes += values.byteLength;
      sums.differing += differingBytes(values, expected, i * output.size);
      sums.beside += differingBytes(values, output.data, i * output.size);
    });
  }
  session.delete();
  return sums;
}
