#include "postgres/table/rewind_place.hpp"

#include <regex>

#include "seriatim/error.hpp"

namespace seriatim::postgres {

RewindPlace place_from(const std::string& text) {
  static const std::regex date(R"(\d{4}-\d{2}-\d{2}([T ].*)?)");
  if (text == "start") return {RewindPlace::Kind::start, {}};
  if (text == "end") return {RewindPlace::Kind::end, {}};
  if (text.rfind("id:", 0) == 0) return {RewindPlace::Kind::row, text.substr(3)};
  if (text.rfind("time:", 0) == 0) return {RewindPlace::Kind::time, text.substr(5)};
  const bool is_time = std::regex_match(text, date);
  return {is_time ? RewindPlace::Kind::time : RewindPlace::Kind::row, text};
}

RewindPlace start_place_from(const std::string& text) {
  if (text == "beginning") return {RewindPlace::Kind::start, {}};
  if (text == "now") return {RewindPlace::Kind::end, {}};
  return place_from(text);
}

}  // namespace seriatim::postgres
