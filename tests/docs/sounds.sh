#!/usr/bin/env bash
# docs/howto/sounds.md: its commands train a network on drawn sounds, some of another sample rate, and its fragment
# of C says of the samples of files what `octet predict` says of the files, to the last digit.
# Usage: sounds.sh <source folder> <work folder> <bin folder> <write_sounds>
set -euo pipefail
source=$1 work=$2 bin=$3 program=$4
page=docs/howto/sounds.md
cd "$source"
. tests/docs/blocks.sh

rm -rf "$work"
mkdir -p "$work"
cd "$work"
"$program" recordings
# Of few sounds an epoch has few steps: smaller batches make more of them.
{ echo "set -eu" && take sh | sed 's/--batch 32 /--batch 4 /'; } >commands.sh
grep -q -e '--batch 4 ' commands.sh
if ! PATH=$bin:$PATH bash commands.sh >log 2>&1; then
  ! grep "reads no WAV files" log || skip "this build reads no sounds (OCTET_SOUNDS)"
  cat log >&2
  exit 1
fi
grep -q 'warning.*: 60 of 120 sounds resampled from 16000 to 8000 samples a second, the rate of the first' log || { cat log >&2 && exit 1; }
{
  echo '#include <stdio.h>'
  echo '#include "model_int8.h"'
  echo 'static void print(const int16_t *sound, int32_t samples) {'
  take c
  cat <<'C'
  static const char *const names[] = MODEL_INT8_CLASS_NAMES;
  for (int i = 0; i < MODEL_INT8_OUTPUT_SIZE; ++i) printf("%s %.2f\n", names[i], (scores[i] + 128) * 100 / 256.0);
}
int main(void) {
  static int16_t sound[32768];
  fseek(stdin, 44, SEEK_SET); /* behind the header */
  print(sound, (int32_t)fread(sound, sizeof *sound, 32768, stdin));
  return 0;
}
C
} >listen.c
cc -std=c99 -Wall -Wextra -Werror -I digits listen.c digits/model_int8.c -lm -o listen
for file in recordings/*_jackson_[0-4].wav; do ./listen <"$file" >>found; done
# A line for each class, in the order of their names.
"$bin/octet" predict digits/model_int8.tflite recordings/*_jackson_[0-4].wav --top 3 >predicted
awk '{ sub(/^[^:]*: /, ""); gsub(/ %/, ""); for (i = split($0, of, ", "); i > 0; --i) print NR, of[i] }' predicted |
  sort -k 1,1n -k 2,2 | cut -d " " -f 2- >expected
same "the page's C" expected found
grep -qE '^accuracy (9[0-9]|100)\.' log || { grep '^accuracy' log >&2; exit 1; }
[ "$(sort -u found | wc -l)" -ge 20 ] || { echo "hardly any file sounds like another: $(xargs <found)" >&2; exit 1; }
