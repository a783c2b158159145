#pragma once

#include <octet/core/shape.h>
#include <octet/train/data/byte_source.h>
#include <octet/train/data/npy.h>

#include <string>
#include <string_view>

namespace octet {

/// What the header of an .npy file says.
struct NpyHeader {
  /// NumPy's code of the values' type, "<f4" for example.
  std::string descr;
  bool fortran_order = false;
  Shape shape;
};

/// Reads the text of a header: a Python dictionary of the keys 'descr', 'fortran_order' and
/// 'shape', each once, in any order, with spaces and a line's end behind it. Throws FormatError
/// that names `file` for anything else, and for more than kMaxFileRank axes.
NpyHeader parse_npy_header(std::string_view text, const std::string& file);

/// Reads the header at the beginning of a file; also how many bytes it takes. Throws as
/// parse_npy_header(), and FormatError for a file of another format or version.
std::pair<NpyHeader, std::uint64_t> read_npy_header(ByteSource& source, const std::string& file);

/// read_npy() of bytes that come from elsewhere; `file` names them in errors.
NpyArray read_npy(ByteSource& source, const std::string& file);

}  // namespace octet
