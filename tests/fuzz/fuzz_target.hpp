// What each fuzz target of this folder is written with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace seriatim::fuzz {

/// An input broke a rule that its parser has to keep for every input.
class RuleBroken : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

inline void require(bool holds, const char* rule) {
  if (!holds) throw RuleBroken(rule);
}

/// Takes the first line off an input that has several parts.
inline std::string_view take_line(std::string_view& input) {
  const auto line = input.substr(0, input.find('\n'));
  input.remove_prefix(line.size() < input.size() ? line.size() + 1 : line.size());
  return line;
}

/// True if `text` holds a byte that can end a line, or that a terminal obeys.
inline bool has_control(std::string_view text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') return true;
  }
  return false;
}

using Check = std::function<void(std::string_view input)>;

/// The targets of this program by the names of their parsers.
inline std::map<std::string, Check>& targets() {
  static std::map<std::string, Check> all;
  return all;
}

struct Entry {
  Entry(const char* parser, Check check) { targets().emplace(parser, std::move(check)); }
};

}  // namespace seriatim::fuzz

/// Begins the check of a parser; `input` is the bytes to try. The check throws RuleBroken, or
/// whatever the parser should not have thrown. libFuzzer calls it, or fuzz_seeds_test does.
#ifdef SERIATIM_LIBFUZZER
#define SERIATIM_FUZZ_TARGET(parser)                                                  \
  static void fuzz_##parser(std::string_view input);                                  \
  extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) { \
    fuzz_##parser({reinterpret_cast<const char*>(data), size});                       \
    return 0;                                                                         \
  }                                                                                   \
  static void fuzz_##parser(std::string_view input)
#else
#define SERIATIM_FUZZ_TARGET(parser)                                         \
  static void fuzz_##parser(std::string_view input);                         \
  static const seriatim::fuzz::Entry entry_##parser(#parser, fuzz_##parser); \
  static void fuzz_##parser(std::string_view input)
#endif
