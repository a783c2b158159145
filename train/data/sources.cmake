# The data part of octet::octet; paths are relative to train/.
target_sources(octet PRIVATE
  data_loader.cpp
  dataset.cpp
  data/byte_source.cpp
  data/digit_glyphs.cpp
  data/digit_pen.cpp
  data/digits.cpp
  data/fingerprint.cpp
  data/idx.cpp)
