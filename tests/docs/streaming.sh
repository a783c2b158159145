#!/usr/bin/env bash
# docs/howto/streaming.md: its program writes a network as C source, and its fragment of C, compiled with that,
# says of a stream what Octet says, on an emulated Cortex-M4 too where there is one. Usage: streaming.sh <source folder> <work folder> <bin folder> <stream_words>
set -euo pipefail
source=$1 work=$2 bin=$3 program=$4
page=docs/howto/streaming.md
cd "$source"
. tests/docs/blocks.sh

rm -rf "$work"
mkdir -p "$work"
cd "$work"
"$program"
{
  echo '#include <stdio.h>'
  take c
  cat <<'C'
void report(const int8_t *scores) {
  for (int i = 0; i < SPOTTER_OUTPUT1_SIZE; ++i) printf("%d\n", scores[i]);
}
int read_frames(int8_t *frames) {
  return fread(frames, SPOTTER_INPUT1_SIZE, 1, stdin) == 1;
}
int main(void) { return listen(); }
C
} >main.c
mkdir exported
"$bin/octet" export spotter.tflite --c exported/spotter
for folder in . exported; do
  cc -std=c99 -Wall -Wextra -Werror -I "$folder" main.c "$folder/spotter.c" -o spotter
  "$work/spotter" <frames >found
  same "the page's C" expected found
done

board=$source/examples/microcontroller
. "$source/scripts/cortex_m4.sh"
if has_cortex_m4; then
  mkdir cortex_m4
  cd cortex_m4
  "$bin/octet" export ../spotter.tflite --c network
  cp ../frames input.bin
  compile firmware
  emulate firmware
  od -An -v -td1 -w1 output.bin | tr -d ' ' >found
  same "a Cortex-M4" ../expected found
fi
