// onnxruntime_network.mjs MODEL.onnx NETWORK.json BATCH THREADS PACKAGES: a network in int8 in ONNX
// Runtime's package for Node, on noise. Times include what a call from JavaScript costs. Prints one
// line of JSON: microseconds of a call, us by the wall clock, cpu_min of processor time.
import fs from 'node:fs';
import path from 'node:path';
import { createRequire } from 'node:module';

const [file, description, batch, threads, packages] = process.argv.slice(2);
if (packages === undefined) {
  console.error('usage: onnxruntime_network.mjs MODEL.onnx NETWORK.json BATCH THREADS PACKAGES');
  process.exit(2);
}
const ort = createRequire(path.resolve(packages, 'index.js'))('onnxruntime-node');

const SAMPLES = 25;
const SAMPLE_MILLISECONDS = 10;

/// Microseconds by both clocks.
function clocks() {
  const { user, system } = process.cpuUsage();
  return [1000 * performance.now(), user + system];
}

async function timeCalls(run) {
  for (let i = 0; i < 10; ++i) await run();
  const begin = performance.now();
  await run();
  const calls = Math.max(1, Math.floor(SAMPLE_MILLISECONDS / (performance.now() - begin)));
  const samples = [[], []];
  for (let sample = 0; sample < SAMPLES; ++sample) {
    const before = clocks();
    for (let i = 0; i < calls; ++i) await run();
    clocks().forEach((after, i) => samples[i].push((after - before[i]) / calls));
  }
  return samples.map((times) => times.sort((a, b) => a - b));
}

const [height, width, channels] = JSON.parse(fs.readFileSync(description)).layers[0].out;
const session = await ort.InferenceSession.create(file, {
  graphOptimizationLevel: 'all',
  executionMode: 'sequential',
  intraOpNumThreads: Number(threads),
  interOpNumThreads: 1,
  logSeverityLevel: 3,
});
const example = height * width === 1 ? [channels] : [height, width, channels];
const size = Number(batch) * height * width * channels;
// Style standard has unsigned codes.
const codes = Uint8Array.from({ length: size }, (_, i) => (2654435761 * i) >>> 24);
const input = new ort.Tensor('uint8', codes, [Number(batch), ...example]);
const feed = { [session.inputNames[0]]: input };
const [wall, processor] = await timeCalls(() => session.run(feed));
const middle = Math.floor(SAMPLES / 2);
console.log(JSON.stringify({ us: wall[middle], min: wall[0], cpu_us: processor[middle], cpu_min: processor[0] }));
