#!/usr/bin/env bash
# microcontroller.sh [FILE.tflite...]: exports networks as C source, compiles that for a Cortex-M4 with
# examples/microcontroller, runs it under qemu, and holds every byte against what `octet run` makes of
# the file; then the export's own self-test. Without a file: the MLP and LeNet-5 of mnist_qat, trained for
# an epoch on drawn digits. Shows instructions per sample and what the linker says of memory, beside what
# the export promised. OCTET_SAMPLES=N takes N inputs. Ends with 77 where the tools cannot be had.
set -euo pipefail
start=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/common.sh

samples=${OCTET_SAMPLES:-200}
board=$PWD/examples/microcontroller
bin=$PWD/build/release/bin
work=$PWD/build/microcontroller
. scripts/cortex_m4.sh

octet_install octet_runtime_requirements octet_requirements octet_microcontroller_requirements || {
  echo "microcontroller: SKIPPED: no cross compiler or emulator, and they could not be installed; on Debian or" \
    "Ubuntu: apt-get install gcc-arm-none-eabi qemu-system-arm" >&2
  exit 77
}
[ -x "$bin/octet" ] && [ -x "$bin/mnist_qat" ] || {
  cmake --preset release >/dev/null &&
    cmake --build --preset release --parallel "$(nproc)" --target octet_tool mnist_qat >/dev/null
}

# What the linker took of network.o into the firmware, of sections whose names begin so, in bytes.
linked() {
  local size sum=0
  for size in $(awk -v name="$1" '
    /^Linker script and memory map/ { taken = 1 }
    taken && $NF == "network.o" && index($1 ~ /^\./ ? $1 : section, name) == 1 { print $(NF - 1) }
    { section = $1 }' firmware.map); do
    sum=$((sum + size))
  done
  echo "$sum"
}
# Sizes of all the firmware's sections of these names, added up.
firmware_bytes() {
  arm-none-eabi-size -A firmware.elf |
    awk -v names=" $* " 'index(names, " " $1 " ") { sum += $2 } END { print sum + 0 }'
}
# The number behind a name in the header of an export, or in what the firmware prints.
promised() { sed -n "s/^#define NETWORK_$1 \([0-9]*\)$/\1/p" network.h; }
said() { sed -n "s/^$1 //p" said; }
failed() { echo "microcontroller: $1" >&2 && return 1; }

# run FILE NAME: a line of the table.
run() {
  local file=$1 name=$2 bytes constants buffers
  mkdir -p "$work/$name"
  cd "$work/$name"
  "$bin/octet" export "$file" --c network >/dev/null
  bytes=$(($(promised INPUT_SIZE) * samples))
  # Codes of all values, the same in every run.
  LC_ALL=C awk -v count="$bytes" 'BEGIN { srand(1); for (i = 0; i < count; ++i) printf "%c", int(256 * rand()) }' \
    >input.bin
  compile selftest -DNETWORK_SELFTEST
  emulate selftest || failed "$name: the self-test"
  compile firmware
  rm -f output.bin
  emulate firmware || failed "$name: the firmware"
  "$bin/octet" run "$file" --input input.bin --out expected.bin >/dev/null
  cmp output.bin expected.bin || failed "$name: bytes differ"
  # Two ticks, in which the counter is read.
  [ $(($(said million) * 40 - 1000000)) -le 80 ] && [ "$(said million)" -ge 25000 ] ||
    failed "a loop of 1000000 instructions took $(said million) ticks, not 25000: another clock"
  constants=$(($(linked .rodata) + $(linked .data))) buffers=$(linked .bss)
  [ "$constants" -gt 0 ] && [ "$constants" -le "$(promised FLASH_BYTES)" ] ||
    failed "$name: $constants bytes of constants, promised were $(promised FLASH_BYTES)"
  [ "$buffers" -le "$(promised RAM_BYTES)" ] ||
    failed "$name: $buffers bytes of buffers, promised were $(promised RAM_BYTES)"
  printf '| %s | %s, 0 differ | %s | %s to %s | %s / %s | %s | %s / %s | %s | %s / %s |\n' "$name" \
    "$(stat -c %s output.bin)" "$(promised MACS)" $(($(said least) * 40)) $(($(said most) * 40)) \
    "$(promised FLASH_BYTES)" "$constants" "$(linked .text)" "$(promised RAM_BYTES)" "$buffers" \
    "$(said stack)" "$(firmware_bytes .text .data)" "$(firmware_bytes .data .bss)"
  cd "$OLDPWD"
}

echo "Bytes; of $samples inputs; gcc $(arm-none-eabi-gcc -dumpversion), -O2 -mcpu=cortex-m4" && echo
echo "| network | output bytes | multiply-adds | instructions | constants, promised / linked | code | buffers, promised / linked | stack | firmware: flash / RAM |"
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
