#pragma once

#include <string>

namespace seriatim::postgres {

/// A place in the order of a table, as people name it: the row that will be delivered next.
struct RewindPlace {
  enum class Kind {
    start,  ///< the table's first row
    end,    ///< the first row inserted from now on
    row,    ///< `text`: its id
    time,   ///< `text`: ISO 8601; the first row created then or later
  };
  Kind kind = Kind::start;
  std::string text;
};
/// "start", "end", a time that begins with a date, or a row's id; "id:" and "time:" before it say
/// which where it could be either.
[[nodiscard]] RewindPlace place_from(const std::string& text);

/// `start` of a source: "beginning", "now", or a place as `rewind --to` takes it.
[[nodiscard]] RewindPlace start_place_from(const std::string& text);

}  // namespace seriatim::postgres
