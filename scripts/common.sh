# Sourced by the other scripts: finds what is missing on this machine and installs it.

# A program or file that shows that a package is there, and the Debian package that brings it. A
# package is in one list, and in none where nothing of ours uses it; tests/packages holds them to it.

# What octet::runtime is built with, beside a compiler.
octet_runtime_requirements() {
  cat <<'LIST'
program:cmake cmake
program:ninja ninja-build
program:flatc flatbuffers-compiler
header:flatbuffers/flatbuffers.h libflatbuffers-dev
header:fmt/core.h libfmt-dev
LIST
}

# What the rest is built with: libraries, examples and tools.
octet_requirements() {
  cat <<'LIST'
program:g++ g++
program:protoc protobuf-compiler
header:google/protobuf/message_lite.h libprotobuf-dev
header:spdlog/spdlog.h libspdlog-dev
header:zlib.h zlib1g-dev
header:zip.h libzip-dev
header:turbojpeg.h libturbojpeg0-dev
header:png.h libpng-dev
header:sndfile.h libsndfile1-dev
header:nlohmann/json.hpp nlohmann-json3-dev
header:CLI/CLI.hpp libcli11-dev
header:openssl/evp.h libssl-dev
LIST
}

octet_test_requirements() {
  cat <<'LIST'
header:gtest/gtest.h libgtest-dev
header:gmock/gmock.h libgmock-dev
header:eigen3/Eigen/Core libeigen3-dev
program:pkg-config pkg-config
LIST
}

# What training on several ranks is built and tested with (OCTET_MPI).
octet_mpi_requirements() {
  cat <<'LIST'
program:mpirun openmpi-bin
header:mpi/mpi.h libopenmpi-dev
LIST
}

# What the benchmarks are built with.
octet_bench_requirements() {
  cat <<'LIST'
header:benchmark/benchmark.h libbenchmark-dev
LIST
}

# What the checks with Clang need: its runtime libraries and its OpenMP among them.
octet_clang_requirements() {
  cat <<'LIST'
program:clang++ clang
program:clang-format clang-format
program:clang-tidy clang-tidy
llvm:llvm-cov llvm
llvm-library:libclang_rt.fuzzer libclang-rt-dev
llvm-library:libarcher.so libomp-dev
LIST
}

# What scripts/aarch64.sh cross-compiles and runs the runtime's tests with.
octet_aarch64_requirements() {
  cat <<'LIST'
file:/usr/src/googletest/CMakeLists.txt googletest
program:aarch64-linux-gnu-g++ g++-aarch64-linux-gnu
file:/usr/aarch64-linux-gnu/lib/libc.so.6 libc6-arm64-cross
program:qemu-aarch64 qemu-user
LIST
}

# What the checks with libc++ need besides Clang: Debian's first one that has all that Octet uses.
octet_libcxx_requirements() {
  cat <<'LIST'
file:/usr/lib/llvm-16/include/c++/v1/vector libc++-16-dev
file:/usr/lib/llvm-16/lib/libc++abi.a libc++abi-16-dev
LIST
}

# What the site of the documentation is made with.
octet_site_requirements() {
  cat <<'LIST'
program:doxygen doxygen
file:/usr/share/doxygen-awesome-css/doxygen-awesome.css doxygen-awesome-css
LIST
}

# What scripts/microcontroller.sh compiles with and runs on.
octet_microcontroller_requirements() {
  cat <<'LIST'
program:arm-none-eabi-gcc gcc-arm-none-eabi
program:arm-none-eabi-size binutils-arm-none-eabi
program:qemu-system-arm qemu-system-arm
LIST
}

# What the foreign runtimes in tests/interop run on.
octet_interop_requirements() {
  cat <<'LIST'
program:node nodejs
program:npm npm
LIST
}

# What the report is opened in by tests/report. Large: only .ci/run installs it.
octet_browser_requirements() {
  cat <<'LIST'
program:chromium chromium
LIST
}

# What the Python of the documentation and of the benchmarks runs on.
octet_python_requirements() {
  cat <<'LIST'
program:python3 python3
file:/usr/lib/python3/dist-packages/numpy/__init__.py python3-numpy
file:/usr/lib/python3/dist-packages/PIL/__init__.py python3-pil
LIST
}

# What the Java of the documentation is compiled and run with.
octet_java_requirements() {
  cat <<'LIST'
program:javac default-jdk-headless
program:java default-jre-headless
LIST
}

# What is used where it is there, and done without, or asked for by name, where it is not. Nothing
# installs these.
octet_optional() {
  cat <<'LIST'
program:ccache ccache
program:curl curl
program:debootstrap debootstrap
program:git git
program:ip iproute2
program:qemu-system-riscv32 qemu-system-misc
program:riscv64-unknown-elf-gcc gcc-riscv64-unknown-elf
program:shasum perl
program:sudo sudo
program:wget wget
file:/usr/lib/python3/dist-packages/onnx/__init__.py python3-onnx
LIST
}

# ON where programs can be built and run on several ranks of MPI, else OFF, and on stderr why.
octet_mpi() {
  if ! octet_has_all octet_mpi_requirements; then
    echo "octet: there is no MPI here (openmpi-bin, libopenmpi-dev); its tests will be left out" >&2
    echo OFF
  elif ! OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
    OMPI_MCA_rmaps_base_oversubscribe=1 timeout 60 mpirun -np 4 true >&2; then
    echo "octet: mpirun starts no four processes here; its tests will be left out" >&2
    echo OFF
  else
    echo ON
  fi
}

# The tool or library of LLVM whose name begins so, of the version that clang++ is.
octet_llvm() {
  local version
  version=$(clang++ -dumpversion 2>/dev/null | cut -d . -f 1)
  command -v "$1-$version" || command -v "$1"
}
octet_llvm_library() {
  local version found
  version=$(clang++ -dumpversion 2>/dev/null | cut -d . -f 1)
  found=$(find "/usr/lib/llvm-$version/lib" -name "$1*" -print -quit 2>/dev/null)
  [ -n "$found" ] && echo "$found"
}

octet_has() {
  case $1 in
    program:*) command -v "${1#program:}" >/dev/null 2>&1 ;;
    file:*) [ -e "${1#file:}" ] ;;
    llvm:*) octet_llvm "${1#llvm:}" >/dev/null ;;
    llvm-library:*) octet_llvm_library "${1#llvm-library:}" >/dev/null ;;
    header:*)
      [ -e "/usr/include/${1#header:}" ] || [ -e "/usr/local/include/${1#header:}" ] ||
        compgen -G "/usr/include/*-linux-gnu/${1#header:}" >/dev/null
      ;;
  esac
}

# octet_has_all LIST: whether this machine has what the list names.
octet_has_all() {
  local list=$1 mark package
  while read -r mark package; do
    octet_has "$mark" || return 1
  done < <("$list")
}

# octet_install LIST...: installs what the lists name and this machine lacks.
octet_install() {
  local list mark package
  local missing=()
  for list in "$@"; do
    while read -r mark package; do
      octet_has "$mark" || missing+=("$package")
    done < <("$list")
  done
  [ "${#missing[@]}" -gt 0 ] || return 0
  if ! command -v apt-get >/dev/null 2>&1; then
    echo "octet: this system has no apt-get; install these, by the names that Debian gives them," \
      "and run again: ${missing[*]}" >&2
    return 1
  fi
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null 2>&1; then
      echo "octet: not root and no sudo; have these installed and run again: ${missing[*]}" >&2
      return 1
    fi
    as_root=(sudo)
  fi
  echo "octet: installing ${missing[*]}"
  "${as_root[@]}" apt-get update -qq &&
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
      --no-install-recommends "${missing[@]}" >/dev/null
}

# octet_source PACKAGE FOLDER: the sources of a Debian package, in the version of the installed one, unpacked into a
# folder. The system's own lists need not name sources, and stay as they are.
octet_source() {
  local package=$1 folder=$2 version site suite
  version=$(dpkg-query -W -f '${Version}' "$package") || return
  [ "$(cat "$folder/version" 2>/dev/null)" != "$version" ] || return 0
  rm -rf "$folder" && mkdir -p "$folder/lists/partial" || return
  # "PACKAGE | VERSION | SITE SUITE/COMPONENT ..."
  read -r site suite < <(apt-cache madison "$package" | awk -F ' *[|] *' -v v="$version" '$2 == v { print $3; exit }')
  if [ -z "$suite" ]; then
    echo "octet: no package list of apt names $package $version, whose sources are needed; run apt-get update" >&2
    return 1
  fi
  suite=${suite%% *}
  echo "deb-src $site ${suite%%/*} ${suite#*/}" >"$folder/sources.list"
  (
    cd "$folder" || exit
    options=(-qq -o "Dir::Etc::SourceList=$PWD/sources.list" -o Dir::Etc::SourceParts=/dev/null
      -o "Dir::State::Lists=$PWD/lists" -o "Dir::Cache=$PWD" -o APT::Sandbox::User=root)
    apt-get "${options[@]}" update && apt-get "${options[@]}" source --download-only "$package=$version" &&
      tar -xf ./*.orig.tar.* --strip-components=1 && rm -rf lists ./*.orig.tar.* && echo "$version" >version
  )
}

# octet_explain LOG: where a log shows that the machine failed and not the code, what to do about it.
octet_explain() {
  # LLVM's OpenMP library registers itself there when it starts, and no setting of it asks for less.
  if grep -q "^OMP: Error #.*SHM.* failed" "$1"; then
    echo "octet: LLVM's OpenMP library (libomp) ends a program that can't open shared memory: it needs" \
      "a /dev/shm that can be written to; mount -t tmpfs tmpfs /dev/shm, or start the container with one"
  fi
}

# octet_build PRESET TARGETS [cmake options]: configures quietly unless it fails, and builds the targets.
octet_build() {
  local preset=$1 targets=$2
  shift 2
  # shellcheck disable=SC2086
  cmake --preset "$preset" "$@" >/dev/null &&
    cmake --build --preset "$preset" --parallel "$(nproc)" --target $targets
}

# octet_timed NAME COMMAND...: runs a command or a function of ours, and adds a row to build/times: the
# name, seconds, CPU seconds. Ends as the command does.
octet_timed() {
  local name=$1 begin=$SECONDS status=0 cpu
  shift
  mkdir -p build
  (
    "$@"
    status=$?
    times >"build/times.$name"
    exit "$status"
  ) || status=$?
  cpu=$(octet_cpu_seconds "build/times.$name")
  rm -f "build/times.$name"
  echo "$name $((SECONDS - begin)) $cpu" >>build/times
  return "$status"
}

# Seconds in a file that bash's `times` has written, of a shell and of what it waited for.
octet_cpu_seconds() {
  tr ' ' '\n' <"$1" | awk -F '[ms]' '{ sum += $1 * 60 + $2 } END { printf "%.0f", sum }'
}

# What stands in build/times, as a table.
octet_times() {
  [ -f build/times ] || return 0
  printf '%-24s %8s %8s\n' "octet: times" "s" "CPU s"
  awk '{ printf "%-24s %8d %8d\n", $1, $2, $3 }' build/times
}
