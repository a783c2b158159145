// run.mjs PACKAGES MODEL: the names of the model's first input and output, a line each.
// run.mjs PACKAGES MODEL INPUT SHAPE OUTPUT: ONNX Runtime runs on the float32s of the file INPUT, their
// SHAPE such as 1,784; those of its first output go to the file OUTPUT.
// What the stand-ins of this folder hand their work to.
import fs from 'node:fs';
import path from 'node:path';
import { createRequire } from 'node:module';

const [packages, model, input, shape, output] = process.argv.slice(2);
const ort = createRequire(path.join(path.resolve(packages), 'index.js'))('onnxruntime-node');
// An option of the session, such as session.x64quantprecision=1.
const [, name, value] = /^session\.(.*)=(.*)$/.exec(process.env.OCTET_ONNX_OPTION ?? '') ?? [];
const extra = name === undefined ? {} : { session: { [name]: value } };
const session = await ort.InferenceSession.create(model, { extra });
const [inputName] = session.inputNames;
const [outputName] = session.outputNames;
if (input === undefined) {
  console.log(`${inputName}\n${outputName}`);
} else {
  const bytes = fs.readFileSync(input);
  const values = new Float32Array(new Uint8Array(bytes).buffer);
  const tensor = new ort.Tensor('float32', values, shape.split(',').map(Number));
  const { data } = (await session.run({ [inputName]: tensor }))[outputName];
  fs.writeFileSync(output, new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
}
