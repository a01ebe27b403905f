#include "app/output.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "seriatim/error.hpp"

namespace seriatim::app {

namespace {

/// True when all of it went out.
bool write_all(int fd, std::string_view text) noexcept {
  while (!text.empty()) {
    const auto count = ::write(fd, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

/// Columns a terminal gives it, near enough: one a code point.
std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  }));
}

std::string aligned(const std::vector<std::string>& cells, const std::vector<std::size_t>& widths) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    line += cells[i];
    if (i + 1 < cells.size()) line.append(widths[i] - width(cells[i]) + 2, ' ');
  }
  return line;
}

}  // namespace

void occupy_standard_files() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) < 0) (void)!::open("/dev/null", O_RDWR);  // takes the lowest free one
  }
}

bool stdout_is_terminal() {
  return ::isatty(STDOUT_FILENO) == 1;
}

void print(std::string_view text) {
  if (!write_all(STDOUT_FILENO, text)) {
    throw Error(std::string("cannot write to stdout: ") + std::strerror(errno));
  }
}

void complain(std::string_view text) noexcept {
  (void)write_all(STDERR_FILENO, text);
}

Table::Table(std::vector<std::string> heading) : heading_(std::move(heading)) {}

void Table::row(std::vector<std::string> cells) {
  cells.resize(heading_.size());
  lines_.push_back({std::move(cells), {}});
}

void Table::note(std::string text) {
  lines_.push_back({{}, std::move(text)});
}

std::vector<std::size_t> Table::widths() const {
  std::vector<std::size_t> result;
  for (const auto& cell : heading_) result.push_back(width(cell));
  for (const auto& line : lines_) {
    for (std::size_t i = 0; i < line.cells.size(); ++i) {
      result[i] = std::max(result[i], width(line.cells[i]));
    }
  }
  return result;
}

std::string Table::text(bool terminal) const {
  const auto columns = widths();
  const auto heading = aligned(heading_, columns);
  std::string text = terminal ? "\x1b[1m" + heading + "\x1b[0m\n" : heading + '\n';
  for (const auto& line : lines_) {
    text += line.cells.empty() ? "    " + line.note : aligned(line.cells, columns);
    text += '\n';
  }
  return text;
}

}  // namespace seriatim::app
