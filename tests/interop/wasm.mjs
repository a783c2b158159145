// Evaluates a script that Emscripten wrote for browsers, and starts its module from files alone.
import fs from 'node:fs';
import path from 'node:path';
import vm from 'node:vm';
import { createRequire } from 'node:module';

/// `script` is a .js file with the .wasm file of its name beside it; `factory` is the name of the
/// function that it defines.
export async function startModule(script, factory) {
  const source = `${fs.readFileSync(script, 'utf8')}\nreturn ${factory};`;
  const evaluate = vm.compileFunction(source, ['require', '__filename', '__dirname'], {
    filename: script,
  });
  const start = evaluate(createRequire(script), script, path.dirname(script));
  const wasmBinary = fs.readFileSync(script.replace(/\.js$/, '.wasm'));
  const quiet = () => {};
  return start({ wasmBinary, print: quiet, printErr: quiet });
}

/// Copies `bytes` to memory of the module; free it with module._free().
export function allocate(module, bytes) {
  const pointer = module._malloc(bytes.length);
  module.HEAPU8.set(bytes, pointer);
  return pointer;
}
