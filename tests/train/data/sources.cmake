# Tests of the data part; paths are relative to tests/. They need ZLIB::ZLIB.
set(OCTET_DATA_TESTS
  train/data/augmented_training_test.cpp
  train/data/cifar10_test.cpp
  train/data/csv_test.cpp
  train/data/data_loader_test.cpp
  train/data/dataset_test.cpp
  train/data/digits_test.cpp
  train/data/fingerprint_test.cpp
  train/data/idx_damage_test.cpp
  train/data/idx_test.cpp
  train/data/image_augmentation_test.cpp
  train/data/npy_test.cpp
  train/data/reader_test.cpp)
