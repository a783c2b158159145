#!/usr/bin/env bash
# microcontroller_table.sh [FILE.tflite...] | --check | --record: executed instructions, flash, RAM and differing
# bytes of exported C source on emulated processors. Exports each file, compiles that with bench/microcontroller, runs
# it under qemu with a plugin that counts (counter.c there), and holds its output against `octet run`. Without a file:
# lenet5, dscnn and resnet8 of mnist_qat, untrained, and the files in $OCTET_MLPERF_DIR. Each file is exported with the
# bytes of each of OCTET_RUNTIMES ("cmsis-nn litert"). OCTET_BIN: where octet and mnist_qat are.
# OCTET_EXPORT: further options of `octet export`, such as "--c-code small" or "--ram 20000".
# OCTET_TARGETS ("m4 m55 m0plus rv32imc"), OCTET_OPTIMIZATIONS ("-O3 -Os"), OCTET_SAMPLES (2): what is run.
# Flash is the firmware less one without a network; RAM is static data, input, output and the deepest stack.
# --check holds the instructions of mnist_qat's networks with -O3 against bench/microcontroller/counts.txt, where the
# compiler is of the version that stands there; --record writes that file.
# Ends with 77 where no target can be run, with 1 where a byte differs or instructions are off by more than 3 %.
set -euo pipefail
start=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/common.sh

mode=
case ${1:-} in
  --check | --record)
    [ $# = 1 ] || { echo "microcontroller_table: $1 takes no files" >&2 && exit 1; }
    mode=$1 OCTET_OPTIMIZATIONS=-O3 OCTET_MLPERF_DIR= OCTET_EXPORT=
    shift
    ;;
esac
targets=${OCTET_TARGETS:-m4 m55 m0plus rv32imc}
runtimes=${OCTET_RUNTIMES:-cmsis-nn litert}
optimizations=${OCTET_OPTIMIZATIONS:--O3 -Os}
samples=${OCTET_SAMPLES:-2}
board=$PWD/bench/microcontroller
recorded=$board/counts.txt
bin=${OCTET_BIN:-$PWD/build/release/bin}
work=$PWD/build/microcontroller_table
mkdir -p "$work"

[ -x "$bin/octet" ] && [ -x "$bin/mnist_qat" ] || {
  cmake --preset release >/dev/null
  cmake --build --preset release --parallel "$(nproc)" --target octet_tool mnist_qat >/dev/null
}
cc -O2 -shared -fPIC "$board/counter.c" -o "$work/counter.so"

# target NAME: sets tools, flags, machine, and where its flash and RAM begin. No qemu board has a Cortex-M0+ with
# enough memory: code for it runs on a Cortex-M3.
target() {
  tools=arm-none-eabi- emulator=qemu-system-arm flash_at=0 ram_at=0x20000000
  case $1 in
    "m4") flags="-mcpu=cortex-m4 -mthumb -mfloat-abi=soft" machine="mps2-an386" ;;
    "m55") flags="-mcpu=cortex-m55 -mthumb -mfloat-abi=hard" machine="mps3-an547" ;;
    "m0plus") flags="-mcpu=cortex-m0plus -mthumb -mfloat-abi=soft" machine="mps2-an385" ;;
    "rv32imc")
      tools=riscv64-unknown-elf- emulator=qemu-system-riscv32 flash_at=0x80000000 ram_at=0x80100000
      flags="-march=rv32imc -mabi=ilp32 -mcmodel=medany" machine="virt -bios none"
      ;;
    *) echo "microcontroller_table: no target $1: m4, m55, m0plus, rv32imc" >&2 && exit 1 ;;
  esac
  command -v "${tools}gcc" >/dev/null && command -v "$emulator" >/dev/null
}
# link OPTION...: firmware.elf; prints what it takes of flash and of static RAM.
link() {
  "${tools}gcc" $flags -std=gnu11 -ffreestanding -ffunction-sections -fdata-sections -nostdlib -Wl,--gc-sections \
    -I. -T "$board/board.ld" -Wl,--defsym=FLASH_AT=$flash_at,--defsym=RAM_AT=$ram_at "$@" "$board/measure.c" -lgcc \
    -o firmware.elf
  "${tools}size" -A firmware.elf | awk '$1 == ".text" || $1 == ".data" { flash += $2 }
    $1 == ".data" || $1 == ".bss" || $1 == ".caller" { ram += $2 } END { print flash, ram }'
}
address() { "${tools}nm" firmware.elf | awk -v name="$1" '$3 == name { print "0x" $1 }'; }
# version: the line of the recorded counts that says which compiler they are of.
version() { echo "$t: ${tools}gcc $("${tools}gcc" -dumpfullversion)"; }
# hold NAME RUNTIME MILLIONS: records the count, or compares it with the recorded one.
hold() {
  if [ "$mode" = --record ]; then
    echo "$t $*" >>"$work/counts.txt"
  elif grep -qxF "$(version)" "$recorded"; then
    awk -v what="$t $1 $2" -v found="$3" '
      $1 " " $2 " " $3 == what { expected = $4 }
      END {
        if (found <= 1.03 * expected && found >= 0.97 * expected) exit 0
        print "microcontroller_table: " what ": expected " expected " million instructions within 3 %, found " found \
          "; where that is meant, scripts/microcontroller_table.sh --record" >"/dev/stderr"
        exit 1
      }' "$recorded" || failed=1
  fi
}
# run NAME RUNTIME OPTIMIZATION TARGET: a line of the table.
run() {
  local name=$1 runtime=$2 optimization=$3 flash ram empty differ millions
  mkdir -p "$work/$name-$runtime/$4$optimization"
  cd "$work/$name-$runtime/$4$optimization"
  read -r empty _ < <(link $optimization -DEMPTY)
  "${tools}gcc" $flags $optimization -std=c99 -Wall -Wextra -Wconversion -Werror -ffreestanding -ffunction-sections \
    -fdata-sections -DNETWORK_NO_FLOAT -c ../network.c -o network.o
  read -r flash ram < <(link $optimization -I.. network.o)
  ln -sf ../input.bin input.bin
  timeout 600 $emulator -machine $machine -nographic -monitor none -serial none \
    -semihosting-config enable=on,target=native -kernel firmware.elf \
    -plugin "$work/counter.so,start=$(address count_start),stop=$(address count_stop),out=counts" >said 2>&1 ||
    { cat said >&2 && return 1; }
  [ "$(awk 'NR == 1 { print ($2 >= 1000000 && $2 <= 1000010) }' counts)" = 1 ] ||
    { echo "microcontroller_table: a loop of a million instructions was counted otherwise" >&2 && return 1; }
  differ=$({ cmp -l output.bin ../expected.bin || true; } | wc -l)
  [ "$(stat -c %s output.bin)" = "$(stat -c %s ../expected.bin)" ] || differ=all
  [ "$differ" = 0 ] || failed=1
  millions=$(awk '$1 == "total" && NR > 1 { sum += $2; ++count } END { printf "%.3f", sum / count / 1e6 }' counts)
  echo "| $4 $optimization | $name | $runtime | $millions | $((flash - empty)) |" \
    "$((ram + $(sed -n 's/^stack //p' said))) | $differ |"
  [ -z "$mode" ] || hold "$name" "$runtime" "$millions"
  cd "$OLDPWD"
}
# export_file FILE NAME RUNTIME: the C source, inputs, and the bytes that they are to give.
export_file() {
  mkdir -p "$work/$2-$3"
  cd "$work/$2-$3"
  "$bin/octet" export "$1" --c network --target "$3" ${OCTET_EXPORT:-} >/dev/null
  local size=$(sed -n 's/^#define NETWORK_INPUT_SIZE //p' network.h)
  LC_ALL=C awk -v count=$((size * samples)) 'BEGIN { srand(1); for (i = 0; i < count; ++i) printf "%c", 256 * rand() }' \
    >input.bin
  "$bin/octet" run "$1" --target "$3" --input input.bin --out expected.bin >/dev/null
  cd "$OLDPWD"
}

# own NETWORK RUNTIME: a file of a network of mnist_qat that is quantized for the runtime.
own() {
  local out=$work/$1/$2
  [ -e "$out/mnist_int8.tflite" ] ||
    env -u OCTET_MNIST_DIR "$bin/mnist_qat" --network "$1" --target "$2" --epochs 0 --qat-epochs 0 \
      --out "$out" --no-progress >/dev/null
  echo "$out/mnist_int8.tflite"
}

files=()
for file; do files+=("$(cd "$start" && realpath "$file")"); done
[ $# -gt 0 ] || {
  files=(lenet5 dscnn resnet8)
  [ -z "${OCTET_MLPERF_DIR:-}" ] || files+=("$OCTET_MLPERF_DIR"/*.tflite)
}
failed=0 ran=0
[ "$mode" != --record ] || {
  echo "# Million instructions of a sample, compiled with -O3: scripts/microcontroller_table.sh --record writes them."
  for t in $targets; do ! target "$t" || version; done
} >"$work/counts.txt"
echo "| processor | network | bytes of | million instructions | flash | RAM | bytes that differ |"
echo "| --- | --- | --- | --- | --- | --- | --- |"
for file in "${files[@]}"; do
  name=$(basename "$file" .tflite)
  for runtime in $runtimes; do
    of=$file
    [[ $file == /* ]] || of=$(own "$name" "$runtime")
    export_file "$of" "$name" "$runtime"
    for t in $targets; do
      target "$t" || continue
      ran=1
      for optimization in $optimizations; do run "$name" "$runtime" "$optimization" "$t"; done
    done
  done
done
for t in $targets; do
  if ! target "$t"; then
    echo "microcontroller_table: $t SKIPPED: no ${tools}gcc or $emulator" >&2
  elif [ "$mode" = --check ] && ! grep -qxF "$(version)" "$recorded"; then
    echo "microcontroller_table: counts SKIPPED: $(version), and $recorded is of another" >&2
  fi
done
[ $ran = 1 ] || exit 77
[ "$mode" != --record ] || mv "$work/counts.txt" "$recorded"
exit $failed
