// onnxruntime_infer.mjs MODEL.onnx DATA THREADS PACKAGES: ONNX Runtime's package for Node, which
// tests/interop/install.sh puts into PACKAGES. Times include what a call from JavaScript costs, some
// microseconds. Prints one line of JSON.
import fs from 'node:fs';
import path from 'node:path';
import zlib from 'node:zlib';
import { createRequire } from 'node:module';

const [file, data, threads, packages] = process.argv.slice(2);
if (packages === undefined) {
  console.error('usage: onnxruntime_infer.mjs MODEL.onnx DATA THREADS PACKAGES');
  process.exit(2);
}
const ort = createRequire(path.resolve(packages, 'index.js'))('onnxruntime-node');

const SAMPLES = 25;
const SAMPLE_MILLISECONDS = 10;

function readIdx(name, header) {
  return zlib.gunzipSync(fs.readFileSync(path.join(data, name))).subarray(header);
}

/// The middle of the times of some calls, in microseconds.
async function timeCalls(run) {
  for (let i = 0; i < 10; ++i) await run();
  let begin = performance.now();
  await run();
  const calls = Math.max(1, Math.floor(SAMPLE_MILLISECONDS / (performance.now() - begin)));
  const times = [];
  for (let sample = 0; sample < SAMPLES; ++sample) {
    begin = performance.now();
    for (let i = 0; i < calls; ++i) await run();
    times.push((1000 * (performance.now() - begin)) / calls);
  }
  return times.sort((a, b) => a - b)[Math.floor(SAMPLES / 2)];
}

/// The share of rows whose first largest score is at their label.
function accuracy(scores, labels) {
  const classes = scores.length / labels.length;
  const right = labels.filter((label, i) => {
    const row = scores.subarray(i * classes, (i + 1) * classes);
    return row.indexOf(row.reduce((a, b) => Math.max(a, b))) === label;
  });
  return right.length / labels.length;
}

const pixels = readIdx('t10k-images-idx3-ubyte.gz', 16);
const labels = readIdx('t10k-labels-idx1-ubyte.gz', 8);
const session = await ort.InferenceSession.create(file, {
  graphOptimizationLevel: 'all',
  executionMode: 'sequential',
  intraOpNumThreads: Number(threads),
  interOpNumThreads: 1,
  logSeverityLevel: 3,
});
const images = Float32Array.from(pixels, (byte) => byte / 255);
const size = images.length / labels.length;
const result = {};
for (const batch of [1, 32, labels.length]) {
  const input = new ort.Tensor('float32', images.subarray(0, batch * size), [batch, size]);
  const feed = { [session.inputNames[0]]: input };
  result[`us_b${batch}`] = await timeCalls(() => session.run(feed));
  if (batch < labels.length) continue;
  const scores = (await session.run(feed))[session.outputNames[0]].data;
  result.acc = accuracy(scores, labels);
}
console.log(JSON.stringify(result));
