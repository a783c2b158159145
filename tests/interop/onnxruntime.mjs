// ONNX Runtime. Style exact: every layer's codes equal ours at optimisation level "disabled"; the
// classes are the same at "all", for style standard as well. In style standard at "all", the
// operators of `integers` give our codes wherever they read our codes. Files with packed weights
// give what those with int8 weights give, in either style at either level. All other counts are
// for information.
import path from 'node:path';
import { createRequire } from 'node:module';
import { differingBytes, readArguments } from './cases.mjs';

const args = readArguments();
const require = createRequire(path.join(args.packages, 'index.js'));
const ort = require('onnxruntime-node');

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

/// Runs the cases of `list`; differing bytes of layers without and behind a softmax, of the layer
/// in front of it, and differing classes.
async function compare(list, style, level, counts = {}) {
  const sums = { models: 0, samples: 0, bytes: 0, differing: 0, softmax: 0, logits: 0, classes: 0 };
  for (const c of list) {
    const { codes, output } = await run(c, style, level);
    sums.models += 1;
    sums.samples += c.samples;
    countOperators(c, codes, counts);
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
  return sums;
}

/// How many outputs of the nets without further outputs differ between optimisation levels
/// `disabled` and `basic`, at which ONNX Runtime merges QuantizeLinear and DequantizeLinear pairs.
async function compareLevels(list) {
  const sums = { models: 0, outputs: 0, differing: 0 };
  for (const c of list) {
    const [plain, basic] = await Promise.all(['disabled', 'basic'].map(
      async (level) => (await run(c, 'standardAlone', level)).output));
    sums.models += 1;
    sums.outputs += plain.length;
    sums.differing += plain.filter((v, i) => v !== basic[i]).length;
  }
  return sums;
}

/// How many codes of files with packed weights differ from those of the file with int8 weights.
async function comparePacked(list) {
  const sums = { models: 0, codes: 0, differing: 0 };
  for (const c of list) {
    for (const style of ['exact', 'standard']) {
      for (const level of ['disabled', 'all']) {
        const expected = (await run(c, style, level)).codes;
        for (const form of c.onnx.packed) {
          const packed = { ...c, onnx: { ...c.onnx, ...form } };
          const found = (await run(packed, style, level)).codes;
          found.forEach((codes, k) => {
            sums.codes += codes.length;
            sums.differing += differingBytes(codes, expected[k]);
          });
        }
      }
    }
    sums.models += 1;
  }
  return sums;
}

let failed = false;
const fail = (text) => {
  console.error(`ONNX Runtime: ${text}`);
  failed = true;
};

const withOnnx = args.cases.filter((c) => c.onnx);
const images = withOnnx.filter((c) => c.name.startsWith('images'));
const optimisable = withOnnx.filter((c) => !c.onnx.one_class);
const exact = await compare(withOnnx, 'exact', 'disabled');
const optimised = await compare(optimisable, 'exact', 'all');
const classified = await compare(images, 'exact', 'all');
const standard = await compare(images, 'standard', 'disabled');
const standardOptimised = await compare(images, 'standard', 'all');
const operators = {};
await compare(optimisable, 'standard', 'all', operators);
const levels = await compareLevels(optimisable.filter((c) => !images.includes(c)));
const packed = await comparePacked(optimisable.filter((c) => c.onnx.packed));

console.log(`ONNX Runtime: ${exact.models} models, ${exact.samples} samples (${args.images}, ` +
  `random nets), ${exact.bytes} codes: ${exact.differing} differ at disabled, ` +
  `${optimised.differing} at all; ${classified.samples} images: ${classified.classes} classes ` +
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
if (packed.models < 100) fail('too few cases with packed weights');
if (packed.differing > 0) fail('packed weights: expected no code to differ');
if (exact.models < 200 || images.length === 0) fail('too few cases');
if (exact.differing > 0) fail('style exact at disabled: expected no code to differ');
if (classified.classes > 0) fail('style exact at all: expected no class to differ');
if (standardOptimised.classes > 0) fail('style standard at all: expected no class to differ');
if (levels.differing > 0) fail('style standard at basic: expected what disabled gives');
// What ONNX Runtime computes in integers, or copies. Some Gemm it leaves in floating point.
const integers = ['CONCATENATION', 'CONV_2D', 'DEPTHWISE_CONV_2D', 'MAX_POOL_2D', 'RESHAPE',
  'RESIZE_NEAREST_NEIGHBOR'];
for (const name of integers) {
  const { codes = 0, differing = 0 } = operators[name] ?? {};
  if (codes === 0) fail(`no ${name} was compared`);
  if (differing > 0) fail(`style standard at all: ${name}: expected no code to differ`);
}
// A float sum that nothing fuses is not exact: were nothing found here, nothing would be compared.
if (standard.differing === 0) fail('style standard at disabled: expected some code to differ');
process.exitCode = failed ? 1 : 0;
