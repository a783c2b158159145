// stream.mjs RUNTIME PREFIX PACKAGES: one step of a network that carries states, in ONNX Runtime's package for
// Node (onnxruntime) or in LiteRT.js (litert), of the files that `octet_measure stream --write PREFIX` wrote. Each
// output that is a state is given back as an input. Times include what a call from JavaScript costs. Prints one
// line of JSON: microseconds of processor time of a call, cpu_min, and how many bytes of the results of the first
// steps differ from Octet's (of floats: by more than 1e-5).
import fs from 'node:fs';
import path from 'node:path';
import { createRequire } from 'node:module';
import { allocate, startModule } from '../../tests/interop/wasm.mjs';

const [runtime, prefix, packages] = process.argv.slice(2);
if (packages === undefined) {
  console.error('usage: stream.mjs onnxruntime|litert PREFIX PACKAGES');
  process.exit(2);
}
const about = JSON.parse(fs.readFileSync(`${prefix}.json`));
const isFloat = about.inputs[0].dtype === 'float32';
const sizes = about.inputs.map(({ shape }) => shape.reduce((a, b) => a * b, 1));
const isState = (input) => about.states.some(([at]) => at === input);

/// The bytes of int8 as the uint8 that ONNX files of style standard have.
const shifted = (bytes) => bytes.map((b) => b ^ 128);

async function openOnnx() {
  const ort = createRequire(path.resolve(packages, 'index.js'))('onnxruntime-node');
  const session = await ort.InferenceSession.create(`${prefix}.onnx`, {
    graphOptimizationLevel: 'all', intraOpNumThreads: 1, interOpNumThreads: 1, logSeverityLevel: 3,
  });
  const tensor = (i, bytes) => new ort.Tensor(
    isFloat ? 'float32' : 'uint8',
    isFloat ? new Float32Array(Uint8Array.from(bytes).buffer) : Uint8Array.from(shifted(bytes)),
    about.inputs[i].shape);
  return {
    tensor,
    async run(inputs) {
      const feed = Object.fromEntries(session.inputNames.map((name, i) => [name, inputs[i]]));
      const results = await session.run(feed);
      return session.outputNames.map((name) => results[name]);
    },
    read: ({ data }) => (isFloat ? [...data] : shifted([...data])),
    free: () => {},
  };
}

async function openLitert() {
  const script = path.join(packages, 'node_modules/@litertjs/core/wasm/litert_wasm_compat_internal.js');
  const litert = await startModule(script, 'ModuleFactory');
  const environment = litert.LiteRtEnvironment.create(null);
  const bytes = fs.readFileSync(`${prefix}.tflite`);
  const model = litert.loadModel(environment, allocate(litert, bytes), bytes.length);
  const compiled = await litert.compileModel(environment, model, {
    accelerator: 'wasm', cpuOptions: { numThreads: 1 },
  });
  const types = about.inputs.map(({ shape }) => {
    const extents = new litert.VectorInt32();
    shape.forEach((extent) => extents.push_back(extent));
    return litert.LiteRtRankedTensorType.create(
      { value: isFloat ? 1 : 9 }, litert.LiteRtLayout.create(extents));
  });
  return {
    tensor(i, values) {
      const buffer = litert.LiteRtTensorBuffer.createManaged(
        environment, litert.LiteRtTensorBufferType.HOST_MEMORY, types[i], types[i].bytes());
      const pointer = buffer.lock(litert.LiteRtTensorBufferLockMode.WRITE);
      litert.HEAPU8.set(Uint8Array.from(values), pointer);
      buffer.unlock();
      return buffer;
    },
    run: (inputs) => compiled.run(0, inputs),
    read(buffer) {
      const pointer = buffer.lock(litert.LiteRtTensorBufferLockMode.READ);
      const found = litert.HEAPU8.slice(pointer, pointer + buffer.packedSize());
      buffer.unlock();
      return isFloat ? [...new Float32Array(found.buffer)] : [...found];
    },
    free: (buffer) => buffer.delete(),
  };
}

const peer = await { onnxruntime: openOnnx, litert: openLitert }[runtime]();

/// A sequence: step(input) gives the results, and the states go back in.
function begin() {
  const inputs = about.inputs.map(({ zero_point }, i) => {
    if (!isState(i)) return null;
    const bytes = new Array(sizes[i] * (isFloat ? 4 : 1)).fill(isFloat ? 0 : zero_point & 255);
    return peer.tensor(i, bytes);
  });
  return async (input) => {
    inputs[0] = input;
    const outputs = await peer.run(inputs);
    for (const [to, from] of about.states) {
      peer.free(inputs[to]);
      inputs[to] = outputs[from];
    }
    return outputs.filter((_, k) => !about.states.some(([, from]) => from === k));
  };
}

let differing = 0;
let step = begin();
for (const { input, outputs } of about.steps) {
  const x = peer.tensor(0, input);
  const found = await step(x);
  found.forEach((result, k) => {
    const expected = isFloat ? [...new Float32Array(Uint8Array.from(outputs[k]).buffer)] : outputs[k];
    peer.read(result).forEach((value, i) => {
      differing += (isFloat ? Math.abs(value - expected[i]) > 1e-5 : value !== expected[i]) ? 1 : 0;
    });
    peer.free(result);
  });
  peer.free(x);
}

const CALLS = 200;
const SAMPLES = 25;
const x = peer.tensor(0, about.steps[0].input);
step = begin();
let best = Infinity;
for (let sample = 0; sample < SAMPLES; ++sample) {
  const before = process.cpuUsage();
  for (let i = 0; i < CALLS; ++i) (await step(x)).forEach(peer.free);
  const { user, system } = process.cpuUsage(before);
  best = Math.min(best, (user + system) / CALLS);
}
console.log(JSON.stringify({ cpu_min: best, differing }));
