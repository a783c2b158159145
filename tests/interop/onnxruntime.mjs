// ONNX Runtime. Style exact: every layer's codes equal ours at optimisation level "disabled", and at
// "all", which is run of the images, of nets with packed weights and of a quarter of the others; the
// classes are the same at "all", for style standard as well. In style standard at "all", the operators
// of `integers` give our codes wherever they read our codes; a quarter of the nets gives at "basic" what
// "disabled" gives. Files with packed weights give what those with int8 weights give, in style standard
// at "disabled" for a quarter of them. All other counts are for information, as is "all" but for the
// classes of style exact on an x86 processor without VNNI.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { createRequire } from 'node:module';
import { differingBytes, readArguments } from './cases.mjs';

const args = readArguments();
const require = createRequire(path.join(args.packages, 'index.js'));
const ort = require('onnxruntime-node');
// Whether products of fused int8 layers are added by instructions that saturate. The session's option against
// it, session.x64quantprecision, fails where layers share a kernel.
const saturates = process.arch === 'x64' && process.platform === 'linux' &&
  !/avx512_vnni|avx_vnni/.test(readFileSync('/proc/cpuinfo', 'utf8'));

async function run({ onnx, samples }, style, graphOptimizationLevel) {
  const session = await ort.InferenceSession.create(onnx[style], {
    graphOptimizationLevel, intraOpNumThreads: 1, interOpNumThreads: 1, logSeverityLevel: 3,
  });
  const { data, shape } = onnx.input;
  // Style standard has uint8 where we have int8.
  const isUint8 = style !== 'exact' && onnx.input.dtype === 'int8';
  const dtype = isUint8 ? 'uint8' : onnx.input.dtype;
  const feed = new ort.Tensor(dtype, isUint8 ? shifted(data, Uint8Array) : data,
    [samples, ...shape.slice(1)]);
  const found = await session.run({ [session.inputNames[0]]: feed });
  const codes = onnx.codes.map((c) => (found[`${c.name}/codes`] ?? found[c.name])?.data);
  return {
    codes: codes.map((c) => (c instanceof Uint8Array ? shifted(c, Int8Array) : c)),
    output: found[session.outputNames[0]].data,
  };
}

/// Codes of int8 as the codes of uint8 that stand for the same, or back.
function shifted(codes, Codes) {
  return Codes.from(codes, (code) => code ^ 128);
}

/// By operator: how many codes differ in the samples in which it read our codes, and of how many.
function countOperators({ onnx, samples }, codes, counts) {
  const differs = new Map(onnx.codes.map((expected, k) => {
    const size = expected.data.length / samples;
    return [expected.name, Array.from({ length: samples }, (_, i) => differingBytes(
      codes[k].subarray(i * size, (i + 1) * size), expected.data, i * size))];
  }));
  for (const { name, operator, reads, data } of onnx.codes) {
    if (!operator) continue;
    const count = counts[operator] ??= { codes: 0, differing: 0 };
    for (let i = 0; i < samples; ++i) {
      if (reads.some((input) => differs.get(input)[i] > 0)) continue;
      count.codes += data.length / samples;
      count.differing += differs.get(name)[i];
    }
  }
}

/// The largest of each row, the first where several are equal.
function classes(values, samples) {
  const size = values.length / samples;
  return Array.from({ length: samples }, (_, i) => {
    const row = values.subarray(i * size, (i + 1) * size);
    return row.indexOf(row.reduce((a, b) => Math.max(a, b)));
  });
}

/// Sums of what compare() counts: differing bytes of layers without and behind a softmax, of the layer in
/// front of it, and differing classes; by operator in `operators`.
function emptySums() {
  return { models: 0, samples: 0, bytes: 0, differing: 0, softmax: 0, logits: 0, classes: 0, operators: {} };
}

/// Adds what a run of a case gave.
function compare(c, { codes, output }, sums) {
  sums.models += 1;
  sums.samples += c.samples;
  countOperators(c, codes, sums.operators);
  c.onnx.codes.forEach((expected, k) => {
    if (codes[k].length !== expected.data.length) throw new Error(`${c.name}: ${expected.name}`);
    const differing = differingBytes(codes[k], expected.data);
    sums[expected.exact ? 'differing' : 'softmax'] += differing;
    if (expected.exact) sums.bytes += expected.data.length;
    if (c.onnx.codes[k + 1]?.exact === false) sums.logits += differing;
  });
  const ours = classes(c.onnx.codes.at(-1).data, c.samples);
  sums.classes += classes(output, c.samples).filter((v, i) => v !== ours[i]).length;
}

const isImages = (c) => c.name.startsWith('images');
// What is run of a case, each style and level once, and whom it concerns.
const plans = [
  { style: 'exact', level: 'disabled', concerns: () => true },
  {
    style: 'exact', level: 'all',
    concerns: (c, i) => !c.onnx.one_class && (isImages(c) || c.onnx.packed || i % 4 === 0),
  },
  { style: 'standard', level: 'disabled', concerns: (c, i) => isImages(c) || (c.onnx.packed && i % 4 === 0) },
  { style: 'standard', level: 'all', concerns: (c) => !c.onnx.one_class },
];

let failed = false;
const fail = (text) => {
  console.error(`ONNX Runtime: ${text}`);
  failed = true;
};

const [exact, optimised, classified, standard, standardOptimised, standardAll] =
  Array.from({ length: 6 }, emptySums);
// How many codes of files with packed weights differ from those of the file with int8 weights.
const packed = { models: 0, codes: 0, differing: 0 };
// How many outputs of the nets without further outputs differ between optimisation levels `disabled`
// and `basic`, at which ONNX Runtime merges QuantizeLinear and DequantizeLinear pairs.
const levels = { models: 0, outputs: 0, differing: 0 };

async function comparePacked(c, style, level, expected) {
  for (const form of c.onnx.packed) {
    const found = (await run({ ...c, onnx: { ...c.onnx, ...form } }, style, level)).codes;
    found.forEach((codes, k) => {
      packed.codes += codes.length;
      packed.differing += differingBytes(codes, expected[k]);
    });
  }
}

async function compareLevels(c) {
  const [plain, basic] = await Promise.all(['disabled', 'basic'].map(
    async (level) => (await run(c, 'standardAlone', level)).output));
  levels.models += 1;
  levels.outputs += plain.length;
  levels.differing += plain.filter((v, i) => v !== basic[i]).length;
}

const withOnnx = args.cases.filter((c) => c.onnx);
for (const [i, c] of withOnnx.entries()) {
  for (const { style, level, concerns } of plans) {
    if (!concerns(c, i)) continue;
    const found = await run(c, style, level);
    if (style === 'exact') compare(c, found, level === 'all' ? optimised : exact);
    if (style === 'exact' && level === 'all' && isImages(c)) compare(c, found, classified);
    if (style === 'standard' && level === 'all') compare(c, found, standardAll);
    if (style === 'standard' && isImages(c)) {
      compare(c, found, level === 'all' ? standardOptimised : standard);
    }
    if (c.onnx.packed && !c.onnx.one_class) await comparePacked(c, style, level, found.codes);
  }
  if (c.onnx.packed && !c.onnx.one_class) packed.models += 1;
  if (!c.onnx.one_class && !isImages(c) && i % 4 === 0) await compareLevels(c);
}
const { operators } = standardAll;

console.log(`ONNX Runtime: ${exact.models} models, ${exact.samples} samples (${args.images}, ` +
  `random nets), ${exact.bytes} codes: ${exact.differing} differ at disabled, ` +
  `${optimised.differing} of ${optimised.bytes} at all; ` +
  `${classified.samples} images: ${classified.classes} classes ` +
  `differ; style standard: ${standard.logits} logits differ at disabled, ` +
  `${standardOptimised.logits} at all, ${standardOptimised.classes} classes differ; ` +
  `${levels.differing} of ${levels.outputs} outputs of ${levels.models} nets differ between ` +
  'disabled and basic');
const text = Object.entries(operators).map(
  ([name, { codes, differing }]) => `${name} ${differing} of ${codes}`);
console.log(`ONNX Runtime, style standard at all, codes of operators that read our codes: ` +
  text.sort().join(', '));
console.log(`ONNX Runtime, packed weights as planes and INT4: ${packed.models} models, ` +
  `${packed.codes} codes: ${packed.differing} differ from those of int8 weights`);
if (saturates) {
  console.log('ONNX Runtime: this processor has no VNNI, so that it adds products of fused int8 layers by ' +
    'instructions that saturate: differences at all are counted and not held');
}
if (packed.models < 100) fail('too few cases with packed weights');
if (packed.differing > 0) fail('packed weights: expected no code to differ');
if (exact.models < 200 || classified.models === 0) fail('too few cases');
if (exact.differing > 0) fail('style exact at disabled: expected no code to differ');
if (!saturates && optimised.differing > 0) fail('style exact at all: expected no code to differ');
if (classified.classes > 0) fail('style exact at all: expected no class to differ');
if (!saturates && standardOptimised.classes > 0) {
  fail('style standard at all: expected no class to differ');
}
if (levels.differing > 0) fail('style standard at basic: expected what disabled gives');
// What ONNX Runtime computes in integers, or copies. Some Gemm it leaves in floating point.
const integers = ['CONCATENATION', 'CONV_2D', 'DEPTHWISE_CONV_2D', 'MAX_POOL_2D', 'RESHAPE',
  'RESIZE_NEAREST_NEIGHBOR'];
for (const name of integers) {
  const { codes = 0, differing = 0 } = operators[name] ?? {};
  if (codes === 0) fail(`no ${name} was compared`);
  if (!saturates && differing > 0) fail(`style standard at all: ${name}: expected no code to differ`);
}
// A float sum that nothing fuses is not exact: were nothing found here, nothing would be compared.
if (standard.differing === 0) fail('style standard at disabled: expected some code to differ');
process.exitCode = failed ? 1 : 0;
