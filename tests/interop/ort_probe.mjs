import path from 'node:path';
import { createRequire } from 'node:module';
import { readArguments, differingBytes } from './cases.mjs';
const args = readArguments();
const ort = createRequire(path.join(args.packages, 'x.js'))('onnxruntime-node');
for (const level of ['disabled','all']) for (const style of ['exact','standard']) {
  let T={}; let nets=0, bad=0, badTot=0, sumT=0;
  for (const c of args.cases.filter(c=>c.onnx)) {
    const s = await ort.InferenceSession.create(c.onnx[style], { graphOptimizationLevel: level, intraOpNumThreads: 1, interOpNumThreads: 1, logSeverityLevel: 3 });
    const i=c.onnx.input;
    const t0=performance.now();
    const r = await s.run({ [s.inputNames[0]]: new ort.Tensor(i.dtype, i.data, [c.samples, ...i.shape.slice(1)]) });
    const dt=performance.now()-t0;
    const names=s.outputNames; const n=names.length;
    const out=[]; let firstBad=-1;
    c.onnx.codes.forEach((e,k)=>{ const v=r[e.name+'/codes']??r[e.name]; const d=differingBytes(v.data, e.data); out.push(d+(e.exact?'':'~')); if(e.exact&&d&&firstBad<0) firstBad=k;});
    if(c.name.startsWith('images')) console.log(level,style,c.name,out.join(' '),'ms',dt.toFixed(0)); else { nets++; if(firstBad>=0){bad++; if(bad<6)console.log(level,style,c.name,out.join(' '));} }
  }
  console.log(level,style,'nets',nets,'bad',bad);
}
