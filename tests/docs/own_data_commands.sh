#!/usr/bin/env bash
# docs/howto/own_data.md: its commands train on series, records, images and named arrays that are drawn here, in
# fewer epochs than the page's data want, and say what they are shown for. Usage: own_data_commands.sh <source folder>
# <work folder> <bin folder>
set -euo pipefail
source=$1 work=$2 bin=$3
page=docs/howto/own_data.md
cd "$source"
. tests/docs/blocks.sh
[ -e /usr/lib/python3/dist-packages/numpy/__init__.py ] ||
  skip "there is no numpy for Python (on Debian: apt-get install python3-numpy)"

rm -rf "$work"
mkdir -p "$work"
cd "$work"
PATH=$bin:$PATH

# Two speakers, whose voices rise and fall, in series of 20 to 29 steps; windows of three states of a motor.
awk 'BEGIN {
  srand(2); split("JapaneseVowels/V_TRAIN.ts JapaneseVowels/V_TEST.ts", file); system("mkdir -p JapaneseVowels")
  for (f = 1; f <= 2; ++f) {
    print "@classLabel true up down\n@data" > file[f]
    for (i = 0; i < 40; ++i) {
      steps = 20 + int(10 * rand()); line = ""
      for (c = 0; c < 2; ++c) {
        for (k = 0; k < steps; ++k) {
          line = line (k ? "," : "") sprintf("%.3f", (i % 2 ? 1 : -1) * k / steps + 0.1 * rand())
        }
        line = line ":"
      }
      print line (i % 2 ? "up" : "down") > file[f]
    }
  }
  split("idle running worn", state)
  print "current,speed,state" > "recordings.csv"
  print "speed,current" > "new.csv"
  for (r = 0; r < 30; ++r) {
    for (k = 0; k < 80; ++k) {
      s = r % 3; current = 5 * s + rand(); speed = 1000 * (s > 0) * (1 + (s == 2) * sin(k)) + rand()
      printf "%.3f,%.2f,%s\n", current, speed, state[s + 1] > "recordings.csv"
      if (r == 29 && k < 50) printf "%.2f,%.3f\n", speed, current > "new.csv"
    }
  }
}'
# Pictures, of which one kind is dark; names and contents need not agree, as BMP is read without a library.
/usr/bin/python3 - <<'PYTHON'
import pathlib, struct
for label, name in enumerate(["day", "night"]):
    folder = pathlib.Path("pictures") / name
    folder.mkdir(parents=True)
    for i in range(12):
        pixels = bytes((240 - 200 * label + (7 * i + j) % 12) for j in range(3 * 8 * 8))
        head = struct.pack("<2sIIIIiiHHIIiiII", b"BM", 54 + len(pixels), 0, 54, 40, 8, 8, 1, 24, 0, len(pixels), 0, 0, 0, 0)
        (folder / f"{i}.jpg").write_bytes(head + pixels)
        pathlib.Path(f"{name}{i}.jpg").write_bytes(head + pixels)
PYTHON
if ! octet train --data pictures --split 0.5 --normalize --epochs 8 --qat-epochs 1 --batch 4 --hidden 8 --out photos >log 2>&1; then
  grep -q "reads no images" log || { cat log >&2 && exit 1; }
  skip "this build reads no images (OCTET_IMAGES)"
fi

# The page's table of codes is what the C source makes of bytes, each in each channel.
octet inspect photos/model_int8.tflite --json >inspect.json
{
  take python | sed '/^numpy.savez/d'
  echo 'assert mean.shape == (3,)'
  echo 'codes = [table[byte + i // 3, i % 3] for byte in range(0, 256, 64) for i in range(192)]'
  echo 'print(*codes, sep="\n", file=open("expected", "w"))'
} >table.py
/usr/bin/python3 table.py
cat >codes.c <<'C'
#include <stdio.h>
#include "model_int8.h"
int main(void) {
  float x[MODEL_INT8_INPUT_SIZE];
  int8_t codes[MODEL_INT8_INPUT_SIZE];
  for (int byte = 0; byte < 256; byte += 64) {
    for (int i = 0; i < 192; ++i) x[i] = (float)(byte + i / 3) / 255.0f;
    if (model_int8_quantize_input(x, codes) != MODEL_INT8_OK) return 1;
    for (int i = 0; i < 192; ++i) printf("%d\n", codes[i]);
  }
  return 0;
}
C
cc -std=c99 -Wall -Wextra -Werror -ffp-contract=off -I photos codes.c photos/model_int8.c -lm -o codes
./codes >found
same "the page's table" expected found

# What the page's network has: two inputs, and a class and a number as outputs.
cat >net.json <<'JSON'
{"format": 2, "name": "net", "layers": [
  {"name": "x", "type": "InputLayer", "shape": [6], "inputs": []},
  {"name": "z", "type": "InputLayer", "shape": [3], "inputs": []},
  {"name": "both", "type": "Concatenate", "axis": -1, "inputs": ["x", "z"]},
  {"name": "dense", "type": "Dense", "units": 8, "use_bias": true, "activation": "relu", "inputs": ["both"]},
  {"name": "kind", "type": "Dense", "units": 3, "use_bias": true, "activation": "softmax", "inputs": ["dense"]},
  {"name": "size", "type": "Dense", "units": 1, "use_bias": true, "activation": "none", "inputs": ["dense"]}],
 "outputs": ["kind", "size"]}
JSON
{
  echo 'import numpy'
  echo 'draw = numpy.random.default_rng(0)'
  echo 'for part in ["test", "train"]:'
  echo '    x, z = draw.random((60, 6), "f4"), draw.random((60, 3), "f4")'
  echo '    kinds, sizes = numpy.digitize(x[:, 0], [0.3, 0.6]), z[:, :1]'
  take python | grep '^numpy.savez' | sed 's/^/    /; s/"train.npz"/part + ".npz"/'
} >arrays.py
/usr/bin/python3 arrays.py
octet train net.json --data train.npz --epochs 1 --qat-epochs 0 --no-report --out given >log
cp given/model_float.tflite net.tflite

{ echo "set -eu" && take sh | sed 's/--epochs 60 --qat-epochs 20/--epochs 12 --qat-epochs 1/; s/--network tcn/& --epochs 3/'; } >commands.sh
grep -q -e '--epochs 12 ' commands.sh
grep -q -e '--epochs 3' commands.sh
bash commands.sh >log 2>&1 || { cat log >&2 && exit 1; }
for line in 'new.csv, line 2: worn ' '"example": *"night3.jpg"' '"probabilities"' 'size: mean absolute error '; do
  grep -qE "$line" log || { echo "expected a line with '$line', found:" >&2 && cat log >&2 && exit 1; }
done
[ "$(grep -cE '^accuracy (9[0-9]|100)\.' log)" -ge 1 ] || { grep '^accuracy' log >&2; exit 1; }
echo "the commands say what the page shows"
