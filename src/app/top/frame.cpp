#include "app/top/frame.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "app/output.hpp"
#include "app/stall.hpp"
#include "app/text.hpp"

namespace seriatim::app::top {

namespace {

constexpr const char* bold = "\x1b[1m";
constexpr const char* reversed = "\x1b[7m";
constexpr const char* red = "\x1b[31m";
constexpr const char* yellow = "\x1b[33m";
constexpr const char* plain = "\x1b[0m";

std::string styled(const std::string& text, const char* style, const Appearance& appearance) {
  return appearance.color ? style + text + plain : text;
}

std::string rate_text(const Lane& lane) {
  if (!lane.rate()) return "";
  std::array<char, 32> text{};
  const auto size = std::snprintf(text.data(), text.size(), *lane.rate() < 10 ? "%.1f/s" : "%.0f/s",
                                  *lane.rate());
  return {text.data(), static_cast<std::size_t>(size)};
}

std::string state_text(const postgres::LaneReport& report) {
  if (report.wait) return std::string("waits: ") + to_string(report.wait->cause);
  return to_string(report.lane.state);
}

std::vector<std::string> row_of(const Lane& lane, const Appearance& appearance) {
  const auto& report = lane.report;
  const auto called = report.called_for ? human_duration(*report.called_for) : std::string();
  const auto attempts = report.lane.attempts > 1 ? std::to_string(report.lane.attempts) : "";
  return {printable(report.lane.process),
          std::to_string(report.lane.lane),
          state_text(report),
          lag_text(report),
          rate_text(lane),
          sparkline(lane.rates, appearance.unicode),
          called,
          attempts,
          printable(report.next_id.value_or(report.lane.row_id.value_or("")), id_bytes_max),
          short_holder(report)};
}

/// The heading and a line a lane, aligned.
std::vector<std::string> lines_of(const std::vector<Lane>& lanes, const Appearance& appearance) {
  Table table({"PROCESS", "LANE", "STATE", "LAG", "RATE", "", "CALL", "TRY", "NEXT ROW", "HOLDER"});
  for (const auto& lane : lanes) table.row(row_of(lane, appearance));
  const auto text = table.text(false);
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = text.find('\n', at);
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

const char* style_of(const postgres::LaneReport& report) {
  if (report.lane.state == LaneState::halted) return red;
  return stall_of(report) ? yellow : "";
}

/// Wrapped at words to the width, indented by two.
void add_wrapped(std::vector<std::string>& lines, const std::string& text, std::size_t width) {
  const auto room = width > 12 ? width - 2 : 10;
  std::string rest = text;
  while (!rest.empty()) {
    auto part = cut(rest, room);
    if (part.size() < rest.size()) {
      const auto space = part.rfind(' ');
      if (space != std::string::npos && space > 0) part.resize(space);
    }
    lines.push_back("  " + part);
    rest.erase(0, part.size());
    rest.erase(0, rest.find_first_not_of(' ') == std::string::npos ? rest.size()
                                                                   : rest.find_first_not_of(' '));
  }
}

std::vector<std::string> details(const Lane& lane, const View& view, std::size_t width) {
  std::vector<std::string> lines;
  if (!view.page.empty()) {
    lines.push_back(view.page + " of " + printable(lane.report.lane.process));
    for (const auto& line : view.page_lines) lines.push_back("  " + line);
    return lines;
  }
  lines.push_back(printable(lane.report.lane.process) + " lane " +
                  std::to_string(lane.report.lane.lane) + ": " + to_string(lane.report.lane.state) +
                  ", sequence " + std::to_string(lane.report.lane.sequence) + ", epoch " +
                  std::to_string(lane.report.lane.epoch));
  for (const auto& note : notes_of(lane.report)) add_wrapped(lines, note, width);
  return lines;
}

std::string keys(const View& view) {
  if (!view.question.empty()) return view.question + " y/n";
  if (view.typing) return "filter: " + view.filter + "_";
  return std::string("q quit  up/down  enter rows  p parked  J journal  f filter  s ") +
         to_string(view.sort) + "  1/5 every " + std::to_string(view.seconds) + " s" +
         (view.may_act ? "  r retry  z pause  u resume" : "");
}

}  // namespace

std::string cut(const std::string& text, std::size_t characters) {
  std::size_t bytes = 0;
  for (std::size_t seen = 0; bytes < text.size(); ++bytes) {
    const bool begins = (static_cast<unsigned char>(text[bytes]) & 0xC0U) != 0x80U;
    if (begins && seen++ == characters) break;
  }
  return text.substr(0, bytes);
}

std::string sparkline(const std::deque<std::optional<double>>& rates, bool unicode) {
  static constexpr std::array<const char*, 8> bars{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  static constexpr std::array<const char*, 8> ascii{"_", "_", ".", ".", "-", "-", "=", "#"};
  double most = 0;
  for (const auto& rate : rates) most = std::max(most, rate.value_or(0));
  std::string text;
  for (const auto& rate : rates) {
    if (!rate) {
      text += ' ';
      continue;
    }
    const auto height = most > 0 ? static_cast<std::size_t>(*rate / most * 7 + 0.5) : 0;
    text += (unicode ? bars : ascii).at(height);
  }
  return text;
}

std::vector<std::string> frame(const std::vector<Lane>& lanes, const std::string& verdict,
                               const View& view, const Appearance& appearance) {
  std::vector<std::string> screen;
  screen.push_back(styled(cut(verdict, appearance.width), bold, appearance));
  screen.push_back(cut(view.note, appearance.width));
  const auto table = lines_of(lanes, appearance);
  screen.push_back(styled(cut(table.front(), appearance.width), bold, appearance));
  // A third of the screen, and no less than five lines, is for the lane that is selected.
  const auto room = appearance.height > 14  ? appearance.height * 2 / 3 - 3
                    : appearance.height > 9 ? appearance.height - 9
                                            : 1;
  const auto selected = lanes.empty() ? 0 : std::min(view.selected, lanes.size() - 1);
  const auto first = selected >= room ? selected - room + 1 : 0;
  for (std::size_t i = first; i < lanes.size() && i < first + room; ++i) {
    const auto line = cut(table[i + 1], appearance.width);
    const auto* style = i == selected ? reversed : style_of(lanes[i].report);
    const auto mark = i == selected && !appearance.color
                          ? ">" + line.substr(std::min<std::size_t>(1, line.size()))
                          : line;
    screen.push_back(*style == '\0' ? mark : styled(mark, style, appearance));
  }
  screen.emplace_back();
  if (!lanes.empty()) {
    for (const auto& line : details(lanes[selected], view, appearance.width)) {
      screen.push_back(cut(line, appearance.width));
    }
  }
  screen.resize(appearance.height > 1 ? appearance.height - 1 : 0);
  screen.push_back(cut(keys(view), appearance.width));
  return screen;
}

}  // namespace seriatim::app::top
