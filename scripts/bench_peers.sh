# Sourced by bench.sh: the peers, and how they are set up to be at their quickest.
# shellcheck shell=bash disable=SC2034

octet_peer_requirements() {
  cat <<'LIST'
header:dnnl.h libdnnl-dev
header:xnnpack.h libxnnpack-dev
header:pthreadpool.h libpthreadpool-dev
header:torch/csrc/api/include/torch/torch.h libtorch-dev
file:/usr/lib/python3/dist-packages/torch/__init__.py python3-torch
LIST
}

# Debian's OpenBLAS waits in threads of its own, which under PyTorch's OpenMP costs several times
# the time on two threads; the flavour that uses OpenMP is unpacked beside it. Prints its folder.
openblas_with_openmp() {
  local folder=$1/openblas found
  if [ ! -d "$folder" ]; then
    mkdir -p "$folder.new"
    (cd "$folder.new" && apt-get download libopenblas0-openmp && dpkg -x ./*.deb .) \
      >/dev/null 2>&1 || return 1
    mv "$folder.new" "$folder"
  fi
  found=$(find "$folder" -name libblas.so.3 -print -quit)
  [ -n "$found" ] && dirname "$found"
}

# tune_torch DIR: sets has_torch (empty where it is missing), and `tuned`, a command in front of PyTorch and
# libtorch: AVX-512 kernels, which version 1.13 does not choose by itself; no memory given back to the system between
# steps; OpenBLAS as above, on the kernels that it chooses.
tune_torch() {
  local blas
  has_torch=""
  if /usr/bin/python3 -c 'import numpy, torch' 2>/dev/null; then has_torch=yes; else
    echo "octet: PyTorch is left out: no python3-torch" >&2; fi
  tuned=(env -u OPENBLAS_CORETYPE -u OPENBLAS_NUM_THREADS
    MALLOC_MMAP_THRESHOLD_=268435456 MALLOC_TRIM_THRESHOLD_=1073741824)
  if grep -qw avx512f /proc/cpuinfo; then tuned+=(ATEN_CPU_CAPABILITY=avx512); fi
  if blas=$(openblas_with_openmp "$1"); then tuned+=("LD_LIBRARY_PATH=$blas"); else
    echo "octet: OpenBLAS as it is installed: no libopenblas0-openmp" >&2; fi
}

# prepare_peers DIR: does so, and sets has_onnxruntime and packages.
prepare_peers() {
  tune_torch "$1"
  packages=$1/packages has_onnxruntime=""
  if bash tests/interop/install.sh "$packages" >&2; then has_onnxruntime=yes; else
    echo "octet: ONNX Runtime is left out" >&2; fi
}
