#!/usr/bin/env bash
# What the commands and programs of the pages find in their folder: drawn digits where MNIST would be, a
# trained network, what others exported, and of 20 images the pixels and the classes that `octet run` gives.
# Usage: prepare.sh <source folder> <folder to make> <bin folder> <write_digits>
set -euo pipefail
source=$1 given=$2 bin=$3 digits=$4
rm -rf "$given"
mkdir -p "$given"
cd "$given"
export OCTET_MNIST_DIR=

"$digits" mnist
"$bin/mnist_qat" --data mnist --epochs 2 --qat-epochs 1 --no-progress >log
cp octet-out/mnist_int8.tflite model_int8.tflite
cp "$source/tests/data/onnx/lenet5_13.onnx" lenet.onnx
cp lenet.onnx net.onnx
"$bin/octet" import lenet.onnx --out model.octet >>log

head -c $((16 + 20 * 784)) mnist/t10k-images-idx3-ubyte | tail -c +17 >pixels
# A code of int8 is the byte of the pixel - 128.
LC_ALL=C tr '\000-\377' '\200-\377\000-\177' <pixels >codes
"$bin/octet" run model_int8.tflite --input codes --out scores
od -An -v -td1 -w10 scores | awk '
  { best = 1; for (i = 2; i <= NF; ++i) if ($i > $best) best = i; print best - 1 }' >classes
[ "$(sort -u classes | wc -l)" -ge 4 ] || { echo "found hardly any classes: $(xargs <classes)" >&2; exit 1; }
