#!/usr/bin/env bash
# docs/howto/sensors.md: its commands make recordings and a network, and its fragment of C, compiled with that,
# tells three activities apart, with the bytes of `octet run`, on an emulated Cortex-M4 too where there is one.
# Usage: sensors.sh <source folder> <work folder> <bin folder>
set -euo pipefail
source=$1 work=$2 bin=$3
page=docs/howto/sensors.md
cd "$source"
. tests/docs/blocks.sh

rm -rf "$work"
mkdir -p "$work"
cd "$work"
{ echo "set -eu" && take sh; } >commands.sh
PATH=$bin:$PATH bash commands.sh >log
{
  echo '#include <stdio.h>'
  take c
  cat <<'C'
static FILE *windows;
void report(const int8_t *answer) {
  int best = 0;
  for (int i = 1; i < NETWORK_OUTPUT_SIZE; ++i) best = answer[i] > answer[best] ? i : best;
  fwrite(window, sizeof window, 1, windows);
  fwrite(answer, NETWORK_OUTPUT_SIZE, 1, stdout);
  fprintf(stderr, "%d\n", best);
}
int read_record(float *record) { return scanf("%f %f %f", record, record + 1, record + 2) == 3; }
int main(void) { return (windows = fopen("windows", "ab")) == NULL || watch(); }
C
} >watch.c
cc -std=c99 -Wall -Wextra -Werror -I motion watch.c motion/network.c -lm -o watch
# The first recording of each activity.
for recording in r0 r1 r2; do
  awk -F, -v recording=$recording '$5 == recording { print $2, $3, $4 }' motion.csv | "$work/watch" 2>>classes >>found
done
[ "$(sort classes | uniq -c | awk '$1 >= 12' | wc -l)" = 3 ] || { uniq -c classes >&2 && exit 1; }
"$bin/octet" run motion/model_int8.tflite --input windows --out expected >>log
cmp expected found
echo "$(wc -l <classes) windows as expected"
board=$source/examples/microcontroller
. "$source/scripts/cortex_m4.sh"
if has_cortex_m4; then
  mkdir cortex_m4
  cd cortex_m4
  "$bin/octet" export ../motion/model_int8.tflite --c network >>../log
  head -c $((4 * $(sed -n 's/^#define NETWORK_INPUT_SIZE //p' network.h))) ../windows >input.bin
  compile firmware
  emulate firmware
  head -c "$(stat -c %s output.bin)" ../expected | cmp - output.bin
fi
