#include <octet/core/parse_number.h>

#if !defined(__cpp_lib_to_chars)
#include <clocale>
#include <cmath>
#include <cstdlib>
#include <string>
#if __has_include(<xlocale.h>)
#include <xlocale.h>
#endif
#endif

namespace octet {
namespace {

#if defined(__cpp_lib_to_chars)

template <class Real>
std::errc parse_real(std::string_view text, Real& value) {
  return detail::from_all_chars(text, value);
}

#else

// libc++ has std::from_chars() for integers alone.

float read(const char* text, char** end, ::locale_t locale, float) {
  return ::strtof_l(text, end, locale);
}
double read(const char* text, char** end, ::locale_t locale, double) {
  return ::strtod_l(text, end, locale);
}

template <class Real>
std::errc parse_real(std::string_view text, Real& value) {
  static ::locale_t plain = ::newlocale(LC_ALL_MASK, "C", nullptr);
  // What strtod() takes besides: spaces, a plus, hexadecimal digits.
  const bool begins = !text.empty() && text.find_first_of(" \t\n\v\f\r+xX") != 0;
  const std::size_t sign = text.starts_with('-') ? 1 : 0;
  const bool is_hex = text.size() > sign + 1 && (text[sign + 1] == 'x' || text[sign + 1] == 'X');
  const std::string copy(text);
  char* end = nullptr;
  const Real found = begins && !is_hex ? read(copy.c_str(), &end, plain, Real{}) : Real{};
  if (end != copy.c_str() + copy.size()) return std::errc::invalid_argument;
  const bool has_digits = text.find_first_of("123456789") < text.find_first_of("eE");
  const bool is_infinite = std::isinf(found) && text.find_first_of("0123456789") != text.npos;
  if (is_infinite || (found == 0 && has_digits)) return std::errc::result_out_of_range;
  value = found;
  return std::errc();
}

#endif

}  // namespace

std::errc parse_number(std::string_view text, float& value) { return parse_real(text, value); }

std::errc parse_number(std::string_view text, double& value) { return parse_real(text, value); }

}  // namespace octet
