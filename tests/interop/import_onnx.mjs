// import_onnx.mjs CASES PACKAGES: ONNX Runtime on the files that import_onnx() reads, held against the
// floats of the imported models: at most 1e-5 of the largest output apart.
import fs from 'node:fs';
import path from 'node:path';
import { createRequire } from 'node:module';

const [folder, packages] = process.argv.slice(2);
const ort = createRequire(path.resolve(packages, 'index.js'))('onnxruntime-node');
const kMost = 1e-5;

/// Element i of a batch, as in tests/data/onnx/make_fixtures.py.
const element = (i) => Math.fround(Math.fround((i * 7919 % 2017) / 1008) - 1);

async function run({ onnx, extents, examples }) {
  const session = await ort.InferenceSession.create(onnx, {
    graphOptimizationLevel: 'disabled', intraOpNumThreads: 1, interOpNumThreads: 1,
    logSeverityLevel: 3,
  });
  const size = extents.reduce((a, b) => a * b);
  const outputs = [];
  // One at a time: some files have a batch of 1.
  for (let n = 0; n < examples; ++n) {
    const x = Float32Array.from({ length: size }, (_, i) => element(n * size + i));
    const found = await session.run(
      { [session.inputNames[0]]: new ort.Tensor('float32', x, [1, ...extents]) });
    outputs.push(...found[session.outputNames[0]].data);
  }
  return outputs;
}

let failed = false;
const cases = JSON.parse(fs.readFileSync(path.join(folder, 'cases.json'), 'utf8'));
for (const c of cases) {
  const bytes = fs.readFileSync(path.join(folder, `${c.name}.f32`));
  const ours = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
  const theirs = await run(c);
  const largest = theirs.reduce((a, b) => Math.max(a, Math.abs(b)), 0);
  const apart = theirs.reduce((a, b, i) => Math.max(a, Math.abs(b - ours[i])), 0) / largest;
  const fine = ours.length === theirs.length && theirs.length > 0 && apart <= kMost;
  console.log(`${c.name}: ${c.examples} inputs, ${theirs.length} outputs: ` +
    `${apart.toExponential(1)} of the largest apart${fine ? '' : ', expected 1e-5 at most'}`);
  failed ||= !fine;
}
if (cases.length < 10) {
  console.error('too few cases');
  failed = true;
}
process.exitCode = failed ? 1 : 0;
