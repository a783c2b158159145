# Sourced by scripts that run exported C source on a Cortex-M4 under qemu, with examples/microcontroller. Uses board, the
# path of that folder.
# shellcheck shell=bash disable=SC2154
flags=(-mcpu=cortex-m4 -mthumb -mfloat-abi=soft -O2 -std=c99 -Wall -Wextra -Werror -ffreestanding
  -ffunction-sections -fdata-sections -DNETWORK_NO_FLOAT)

has_cortex_m4() { command -v arm-none-eabi-gcc >/dev/null && command -v qemu-system-arm >/dev/null; }

# compile PROGRAM [OPTION...]: of network.c and network.h in this folder, and of the board's files. A network that carries
# states is read as a stream.
compile() {
  local program=$1 streams=()
  shift
  grep -q 'network_step(' network.h && streams=(-DNETWORK_STREAMS)
  arm-none-eabi-gcc "${flags[@]}" -I"$board" -c network.c -o network.o "$@" ${1:+-Dmain=network_selftest}
  arm-none-eabi-gcc "${flags[@]}" "${streams[@]}" "$@" -I. -I"$board" -nostdlib -Wl,--gc-sections \
    -Wl,-Map="$program.map" -T "$board/cortex_m4.ld" "$board"/{startup,firmware}.c network.o -lgcc \
    -o "$program.elf"
}

# emulate PROGRAM: an instruction takes a nanosecond of qemu's time; this board's clock ticks every 40. What it says goes
# to the file "said".
emulate() {
  timeout 600 qemu-system-arm -machine mps2-an386 -nographic -monitor none -serial none -icount shift=0 \
    -semihosting-config enable=on,target=native -kernel "$1.elf" >said 2>&1 || { cat said >&2 && false; }
}
