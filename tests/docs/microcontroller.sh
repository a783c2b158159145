#!/usr/bin/env bash
# docs/howto/microcontroller.md: its command writes the C source of a network, its fragment of C is compiled
# with that, and classifies digits as `octet run` does.
# Usage: microcontroller.sh <source folder> <what prepare.sh made> <work folder> <bin folder>
set -euo pipefail
source=$1 given=$2 work=$3 bin=$4
page=docs/howto/microcontroller.md
cd "$source"
. tests/docs/blocks.sh

rm -rf "$work"
mkdir -p "$work"
cd "$work"
cp "$given/model_int8.tflite" .
{ echo "set -eux" && take sh; } >export.sh
PATH=$bin:$PATH bash export.sh

# What is declared stands outside of functions, the statements run for each image.
take c >page.c
{
  echo '#include <stdio.h>'
  grep -E '^(#include|static) ' page.c
  echo 'static void classify(const unsigned char* pixels) {'
  grep -vE '^(#include|static) ' page.c
  cat <<'C'
}
int main(void) {
  unsigned char pixels[NETWORK_INPUT_SIZE];
  while (fread(pixels, 1, sizeof(pixels), stdin) == sizeof(pixels)) {
    int best = 0;
    classify(pixels);
    for (int i = 1; i < NETWORK_OUTPUT_SIZE; ++i) best = output[i] > output[best] ? i : best;
    printf("%d\n", best);
  }
  return 0;
}
C
} >classify.c
cc -std=c99 -Wall -Wextra -Wno-empty-body -Werror -I firmware classify.c firmware/network.c -o classify
"$work/classify" <"$given/pixels" >classes
same "the page's C" "$given/classes" classes
