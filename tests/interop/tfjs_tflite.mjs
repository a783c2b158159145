// tfjs-tflite (TensorFlow Lite with XNNPACK as WebAssembly), through the class that its
// TFLiteModel wraps: in Node the wrapper finds no browser to load the script with.
import path from 'node:path';
import { compareTflite, readArguments } from './cases.mjs';
import { allocate, startModule } from './wasm.mjs';

const args = readArguments();
const script = path.join(args.packages, '@tensorflow/tfjs-tflite/wasm/tflite_web_api_cc_simd.js');
const tflite = await startModule(script, 'tflite_web_api_ModuleFactory');

const options = {
  numThreads: 1,
  enableWebNNDelegate: false,
  webNNDevicePreference: 0,
  enableProfiling: false,
  maxProfilingBufferEntries: 0,
};

function open(model) {
  const pointer = allocate(tflite, model);
  const status = tflite.TFLiteWebModelRunner.CreateFromBufferAndOptions(
    pointer, model.length, options);
  if (!status.ok()) throw new Error(`tfjs-tflite refuses the model: ${status.errorMessage()}`);
  const runner = status.value();
  const list = (vector) => Array.from({ length: vector.size() }, (_, i) => vector.get(i));
  const [input] = list(runner.GetInputs());
  const outputs = list(runner.GetOutputs());
  return {
    run(sample) {
      input.data().set(sample);
      if (!runner.Infer()) throw new Error('tfjs-tflite: the model does not run');
      return outputs.map((tensor) => tensor.data());
    },
    delete() {
      runner.delete();
      tflite._free(pointer);
    },
  };
}

args.cases = args.cases.filter((c) => !c.newer);
// Its XNNPACK is of a time that knew no layers with a scale per channel.
process.exitCode = await compareTflite('tfjs-tflite', args, open, { reference: true });
