// LiteRT.js (LiteRT with XNNPACK as WebAssembly), through the bindings below its documented API:
// that one takes a browser for granted and knows no int8.
import path from 'node:path';
import { bytesOf, compareTflite, readArguments } from './cases.mjs';
import { allocate, startModule } from './wasm.mjs';

const args = readArguments();
const script = path.join(args.packages, '@litertjs/core/wasm/litert_wasm_compat_internal.js');
const litert = await startModule(script, 'ModuleFactory');
const environment = litert.LiteRtEnvironment.create(null);
const elementTypes = { float32: 1, int16: 7, int8: 9 };

/// A tensor type made by hand: the model's own has an unknown batch, for which LiteRT has no size.
function tensorType({ dtype, shape }) {
  const extents = new litert.VectorInt32();
  shape.forEach((extent) => extents.push_back(extent));
  const layout = litert.LiteRtLayout.create(extents);
  return litert.LiteRtRankedTensorType.create({ value: elementTypes[dtype] }, layout);
}

function write(buffer, values) {
  const pointer = buffer.lock(litert.LiteRtTensorBufferLockMode.WRITE);
  litert.HEAPU8.set(bytesOf(values), pointer);
  buffer.unlock();
}

function readAndDelete(buffer) {
  const pointer = buffer.lock(litert.LiteRtTensorBufferLockMode.READ);
  const bytes = litert.HEAPU8.slice(pointer, pointer + buffer.packedSize());
  buffer.unlock();
  buffer.delete();
  return bytes;
}

async function open(bytes, { input }) {
  const pointer = allocate(litert, bytes);
  const model = litert.loadModel(environment, pointer, bytes.length);
  const compiled = await litert.compileModel(environment, model, {
    accelerator: 'wasm',
    cpuOptions: { numThreads: 1 },
  });
  const type = tensorType(input);
  const buffer = litert.LiteRtTensorBuffer.createManaged(
    environment, litert.LiteRtTensorBufferType.HOST_MEMORY, type, type.bytes());
  return {
    async run(sample) {
      write(buffer, sample);
      return (await compiled.run(0, [buffer])).map(readAndDelete);
    },
    delete() {
      for (const object of [buffer, type, compiled, model]) object.delete();
      litert._free(pointer);
    },
  };
}

// It rescales the sums of FULLY_CONNECTED on int16 codes by another rule than contract q15.
args.cases = args.cases.filter((c) => !c.not_litert);
process.exitCode = await compareTflite('LiteRT.js', args, open);
