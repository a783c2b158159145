# Tests of the import room; paths are relative to tests/.
set(OCTET_IMPORT_TESTS
  import/npz_test.cpp
  import/safetensors_test.cpp
  import/weights_pytorch_test.cpp
  import/weights_test.cpp)
