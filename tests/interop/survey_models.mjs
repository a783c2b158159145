// survey_models.mjs CASES PACKAGES: runs what survey_models wrote in ONNX Runtime and LiteRT.js, and
// prints a line for each file: whether our floats are theirs within 1e-5 of the largest, or our
// integers theirs to the last bit; how many values differ between training and the exported integers
// after three steps; and what stopped it. With a third argument it prints those alone that do not
// pass and are not refused as options.tsv says, of which there have to be none, and so many that do.
import fs from 'node:fs';
import path from 'node:path';
import { createRequire } from 'node:module';
import { cutOnnx, cutTflite, withOpset } from './cut.mjs';
import { allocate, startModule } from './wasm.mjs';

const [folder, installed, least] = process.argv.slice(2);
const packages = path.resolve(installed);
const ort = createRequire(path.join(packages, 'index.js'))('onnxruntime-node');
const script = path.join(packages, 'node_modules/@litertjs/core/wasm/litert_wasm_compat_internal.js');
const kMost = 1e-5;
const arrays = { float32: Float32Array, int8: Int8Array, int32: Int32Array, uint8: Uint8Array };
const litertTypes = { float32: 1, int32: 2, uint8: 3, int8: 9 };
const product = (shape) => shape.reduce((a, b) => a * b, 1);

/// The arrays that a case takes and gives, from its bytes.
function read(c) {
  const bytes = fs.readFileSync(path.join(folder, c.bin));
  let at = 0;
  return [c.inputs, c.outputs].map((list) => list.map(({ dtype, shape }) => {
    const size = product(shape) * arrays[dtype].BYTES_PER_ELEMENT;
    const part = bytes.buffer.slice(bytes.byteOffset + at, bytes.byteOffset + at + size);
    at += size;
    return { dtype, shape, values: new arrays[dtype](part) };
  }));
}

/// [n, ..., channels] as [n, channels, ...].
function channelsFirst({ shape, values }) {
  const channels = shape.at(-1), pixels = values.length / shape[0] / channels;
  return Float32Array.from(values, (_, i) => {
    const pixel = i % pixels, channel = Math.floor(i / pixels) % channels;
    return values[(Math.floor(i / pixels / channels) * pixels + pixel) * channels + channel];
  });
}

async function runOnnx(c, inputs) {
  const file = withOpset(fs.readFileSync(c.file));
  const isPart = c.from.length > 0 || c.to.length > 0;
  const { begins, ends, bytes } = isPart ? cutOnnx(file, c.from, c.to) : { begins: [], bytes: file };
  const session = await ort.InferenceSession.create(bytes, {
    graphOptimizationLevel: 'disabled', intraOpNumThreads: 1, logSeverityLevel: 4 });
  const feed = {};
  session.inputNames.forEach((name, i) => {
    const shape = c.shapes[name] ?? c.shapes[c.from[begins.indexOf(name)]] ??
      session.inputMetadata[i].shape.map((n) => (typeof n === 'number' && n > 0 ? n : 1));
    const long = (extents) => extents.filter((n) => n !== 1).join();
    const same = long(shape) === long(inputs[i].shape);
    feed[name] = new ort.Tensor('float32', same ? inputs[i].values : channelsFirst(inputs[i]), shape);
  });
  const found = await session.run(feed);
  return (ends ?? session.outputNames).map((name) => found[name].data);
}

async function runLitert(c, inputs) {
  const litert = await startModule(script, 'ModuleFactory');
  const environment = litert.LiteRtEnvironment.create(null);
  const whole = fs.readFileSync(c.file);
  const isPart = c.from.length > 0 || c.to.length > 0;
  const file = isPart ? cutTflite(whole, c.from, c.to) : whole;
  const model = litert.loadModel(environment, allocate(litert, file), file.length);
  const compiled = await litert.compileModel(environment, model, {
    accelerator: 'wasm', cpuOptions: { numThreads: 1 } });
  const buffers = inputs.map(({ dtype, shape, values }) => {
    const extents = new litert.VectorInt32();
    shape.forEach((n) => extents.push_back(n));
    const type = litert.LiteRtRankedTensorType.create(
      { value: litertTypes[dtype] }, litert.LiteRtLayout.create(extents));
    const buffer = litert.LiteRtTensorBuffer.createManaged(
      environment, litert.LiteRtTensorBufferType.HOST_MEMORY, type, type.bytes());
    litert.HEAPU8.set(new Uint8Array(values.buffer), buffer.lock(litert.LiteRtTensorBufferLockMode.WRITE));
    buffer.unlock();
    return buffer;
  });
  return (await compiled.run(0, buffers)).map((buffer) => {
    const at = buffer.lock(litert.LiteRtTensorBufferLockMode.READ);
    const bytes = litert.HEAPU8.slice(at, at + buffer.packedSize());
    buffer.unlock();
    return bytes.buffer;
  });
}

/// The largest difference, of the largest value.
function apart(ours, theirs) {
  if (ours.length !== theirs.length) return Infinity;
  let [difference, largest] = [0, 1e-30];
  theirs.forEach((value, i) => {
    largest = Math.max(largest, Math.abs(value));
    difference = Math.max(difference, Math.abs(value - ours[i]));
  });
  return difference / largest;
}

/// "equal", or how far the outputs are apart.
async function compare(c) {
  const [inputs, outputs] = read(c);
  const isOnnx = c.file.endsWith('.onnx');
  const theirs = await (isOnnx ? runOnnx : runLitert)(c, inputs);
  const worst = Math.max(...outputs.map((ours, i) => {
    const found = isOnnx ? theirs[i] : new arrays[ours.dtype](theirs[i]);
    if (c.kind === 'codes') return apart(ours.values, found);
    return Math.min(apart(ours.values, found), apart(channelsFirst(ours), found));
  }));
  return worst <= (c.kind === 'codes' ? 0 : kMost) ? 'equal' : worst.toExponential(1);
}

/// Whether a file is what the survey wants: equal, also quantized, or refused as was expected.
const isRight = (c, values) => (c.refused === ''
  ? values === 'equal' && /^0 of [1-9]/.test(c.steps ?? '')
  : !c.loads && c.stopped.includes(c.refused));

let [passed, refused, wrong] = [0, 0, 0];
for (const c of JSON.parse(fs.readFileSync(path.join(folder, 'cases.json'), 'utf8'))) {
  const values = c.loads && c.outputs
    ? await compare(c).catch((error) => `not run: ${String(error.message).slice(0, 160)}`) : '-';
  const right = isRight(c, values);
  if (!right) ++wrong;
  else if (c.refused === '') ++passed;
  else ++refused;
  if (right && least !== undefined) continue;
  console.log([path.basename(c.file), c.loads ? c.kind : 'refused', values, c.steps ?? '-',
    c.stopped.slice(0, 300)].join(' | '));
}
console.log(`${passed} files pass, ${refused} are refused as expected, ${wrong} are neither`);
if (least !== undefined && (wrong > 0 || passed < Number(least))) process.exitCode = 1;
