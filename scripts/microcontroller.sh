#!/usr/bin/env bash
# microcontroller.sh [FILE.tflite...]: exports networks as C source, compiles that for a Cortex-M4 with
# examples/microcontroller, runs it under qemu, and holds every byte against what `octet run` makes of
# the file. Without a file: the MLP and LeNet-5 of mnist_qat, trained for an epoch on drawn digits.
# Shows instructions per sample and what the linker says of memory, beside what the export promised.
set -euo pipefail
start=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/common.sh

samples=200
bin=$PWD/build/release/bin
work=$PWD/build/microcontroller
flags=(-mcpu=cortex-m4 -mthumb -mfloat-abi=soft -O2 -std=c99 -Wall -Wextra -Werror -ffreestanding
  -ffunction-sections -fdata-sections -DNETWORK_NO_FLOAT)

octet_install octet_runtime_requirements octet_requirements octet_microcontroller_requirements || {
  echo "microcontroller: no cross compiler or emulator, and they could not be installed; on Debian or" \
    "Ubuntu: apt-get install gcc-arm-none-eabi qemu-system-arm" >&2
  exit 1
}
[ -x "$bin/octet" ] && [ -x "$bin/mnist_qat" ] || octet_build release

# Sizes of the sections of an object file whose names begin so, added up.
section_bytes() {
  arm-none-eabi-size -A "$1" | awk -v name="$2" 'index($1, name) == 1 { sum += $2 } END { print sum + 0 }'
}
# The number behind a name in the header of an export, or in what the firmware prints.
promised() { sed -n "s/^#define NETWORK_$1 \([0-9]*\)$/\1/p" network.h; }
said() { sed -n "s/^$1 //p" said; }

# run FILE NAME: a line of the table.
run() {
  local file=$1 name=$2 bytes ticks
  mkdir -p "$work/$name"
  cd "$work/$name"
  rm -f output.bin
  "$bin/octet" export "$file" --c network >/dev/null
  bytes=$(($(promised INPUT_SIZE) * samples))
  # Codes of all values, the same in every run.
  LC_ALL=C awk -v count="$bytes" 'BEGIN { srand(1); for (i = 0; i < count; ++i) printf "%c", int(256 * rand()) }' \
    >input.bin
  arm-none-eabi-gcc "${flags[@]}" -c network.c -o network.o
  arm-none-eabi-gcc "${flags[@]}" -I. -nostdlib -Wl,--gc-sections \
    -T "$OLDPWD/examples/microcontroller/cortex_m4.ld" \
    "$OLDPWD"/examples/microcontroller/{startup,firmware}.c network.o -lgcc -o firmware.elf
  # An instruction takes a nanosecond of qemu's time; this board's clock ticks every 40.
  timeout 600 qemu-system-arm -machine mps2-an386 -nographic -monitor none -serial none -icount shift=0 \
    -semihosting-config enable=on,target=native -kernel firmware.elf >said 2>&1 ||
    { cat said >&2; echo "microcontroller: $name: the firmware failed" >&2; return 1; }
  "$bin/octet" run "$file" --input input.bin --output expected.bin >/dev/null
  cmp output.bin expected.bin || { echo "microcontroller: $name: bytes differ" >&2; return 1; }
  ticks=$(said ticks)
  printf '| %s | %s samples, %s bytes, 0 differ | %s | %s | %s | %s | %s | %s | %s |\n' "$name" \
    "$(said samples)" "$(stat -c %s output.bin)" "$(promised MACS)" $((ticks * 40)) \
    "$(promised FLASH_BYTES)" "$(section_bytes network.o .rodata)" "$(section_bytes network.o .text)" \
    "$(promised RAM_BYTES) / $(section_bytes network.o .bss)" "$(said stack)"
  cd "$OLDPWD"
}

echo "| network | output | multiply-adds | instructions | constants, promised | constants, linked | code | buffers, promised / linked | stack |"
echo "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
if [ $# -gt 0 ]; then
  for file; do
    file=$(cd "$start" && realpath "$file")
    run "$file" "$(basename "$file" .tflite)"
  done
else
  for name in mlp lenet5; do
    [ -e "$work/$name/trained/mnist_int8.tflite" ] ||
      env -u OCTET_MNIST_DIR "$bin/mnist_qat" --network "$name" --epochs 1 --qat-epochs 1 \
        --out "$work/$name/trained" --no-progress >/dev/null
    run "$work/$name/trained/mnist_int8.tflite" "$name"
  done
fi
