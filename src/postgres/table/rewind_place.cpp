#include "postgres/table/rewind_place.hpp"

#include <algorithm>
#include <string_view>

namespace seriatim::postgres {

namespace {

/// "2026-01-31", alone or with a time behind it.
bool begins_with_date(std::string_view text) {
  constexpr std::string_view form = "dddd-dd-dd";
  const bool fits = text.size() >= form.size() &&
                    std::equal(form.begin(), form.end(), text.begin(), [](char wanted, char c) {
                      return wanted == 'd' ? c >= '0' && c <= '9' : c == wanted;
                    });
  return fits &&
         (text.size() == form.size() || text[form.size()] == 'T' || text[form.size()] == ' ');
}

}  // namespace

RewindPlace place_from(const std::string& text) {
  if (text == "start") return {RewindPlace::Kind::start, {}};
  if (text == "end") return {RewindPlace::Kind::end, {}};
  if (text.rfind("id:", 0) == 0) return {RewindPlace::Kind::row, text.substr(3)};
  if (text.rfind("time:", 0) == 0) return {RewindPlace::Kind::time, text.substr(5)};
  return {begins_with_date(text) ? RewindPlace::Kind::time : RewindPlace::Kind::row, text};
}

RewindPlace start_place_from(const std::string& text) {
  if (text == "beginning") return {RewindPlace::Kind::start, {}};
  if (text == "now") return {RewindPlace::Kind::end, {}};
  return place_from(text);
}

}  // namespace seriatim::postgres
