# The data part of octet::training; paths are relative to train/.
target_sources(octet_training PRIVATE
  data/array_file.cpp
  data/byte_source.cpp
  data/cifar10.cpp
  data/class_names.cpp
  data/csv.cpp
  data/csv_records.cpp
  data/data_format.cpp
  data/data_loader.cpp
  data/dataset.cpp
  data/digit_glyphs.cpp
  data/digit_pen.cpp
  data/digits.cpp
  data/fingerprint.cpp
  data/idx.cpp
  data/image_augmentation.cpp
  data/load_data.cpp
  data/npy.cpp
  data/npy_header.cpp
  data/number_text.cpp
  data/read_ahead.cpp
  data/sequence_set.cpp
  data/set_name.cpp
  data/split_data.cpp
  data/targets.cpp
  data/text_lines.cpp
  data/ts.cpp)
