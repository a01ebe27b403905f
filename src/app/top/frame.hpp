#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "app/top/model.hpp"

namespace seriatim::app::top {

/// What a terminal can show.
struct Appearance {
  std::size_t width = 80;
  std::size_t height = 24;
  bool color = true;
  bool unicode = true;
};

/// What the person has chosen.
struct View {
  std::size_t selected = 0;  ///< of the lanes shown
  Sort sort = Sort::trouble;
  std::string filter;
  bool typing = false;  ///< the filter is being typed
  std::string page;     ///< of the selected lane's process; empty: the lane's own notes
  std::vector<std::string> page_lines;
  std::string note;      ///< of the last act, or why nothing is read
  std::string question;  ///< waits for y or n
  bool may_act = false;
  unsigned seconds = 1;  ///< between reads
};

/// The whole screen, `height` lines of at most `width` characters; pure, so that it can be tested.
[[nodiscard]] std::vector<std::string> frame(const std::vector<Lane>& lanes,
                                             const std::string& verdict, const View& view,
                                             const Appearance& appearance);

/// Rates as bars of eight heights, the newest last; a gap if a rate is not known.
[[nodiscard]] std::string sparkline(const std::deque<std::optional<double>>& rates, bool unicode);

/// Cut to so many characters of UTF-8.
[[nodiscard]] std::string cut(const std::string& text, std::size_t characters);

}  // namespace seriatim::app::top
