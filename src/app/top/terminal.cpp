#include "app/top/terminal.hpp"

#include <langinfo.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <clocale>
#include <csignal>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "app/output.hpp"
#include "seriatim/error.hpp"

namespace seriatim::app::top {

namespace {

constexpr std::string_view enter_screen = "\x1b[?1049h\x1b[?25l";
constexpr std::string_view leave_screen = "\x1b[?25h\x1b[?1049l";

constexpr std::pair<std::string_view, std::string_view> named_keys[] = {
    {"\x1b[A", "up"}, {"\x1bOA", "up"}, {"\x1b[B", "down"}, {"\x1bOB", "down"},
    {"\r", "enter"},  {"\n", "enter"},  {"\x7f", "erase"},  {"\b", "erase"}};

extern "C" void window_changed(int) {}  // only ends poll(2)

}  // namespace

Terminal::Terminal() {
  if (::isatty(STDIN_FILENO) != 1 || ::isatty(STDOUT_FILENO) != 1) {
    throw Error(
        "`seriatim top` needs a terminal; in a pipe or a script use `seriatim status --watch`, or "
        "`seriatim status --json`");
  }
  std::setlocale(LC_CTYPE, "");
  ::tcgetattr(STDIN_FILENO, &before_);
  auto raw = before_;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  raw.c_cc[VSUSP] = _POSIX_VDISABLE;  // Ctrl-Z would leave the shell with this screen
  raw.c_cc[VMIN] = 0;
  raw.c_cc[VTIME] = 0;
  ::tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  struct sigaction change {};
  change.sa_handler = window_changed;
  ::sigaction(SIGWINCH, &change, nullptr);
  print(enter_screen);
}

Terminal::~Terminal() {
  try {
    print(leave_screen);
  } catch (const Error&) {  // the terminal is gone
  }
  ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

Appearance Terminal::appearance() const {
  Appearance appearance;
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0) {
    appearance.width = size.ws_col;
    appearance.height = size.ws_row;
  }
  const char* no_color = std::getenv("NO_COLOR");
  appearance.color = no_color == nullptr || *no_color == '\0';
  appearance.unicode = std::string_view(::nl_langinfo(CODESET)) == "UTF-8";
  return appearance;
}

void Terminal::draw(const std::vector<std::string>& lines) const {
  std::string text = "\x1b[H";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    text += lines[i] + "\x1b[K" + (i + 1 < lines.size() ? "\r\n" : "");
  }
  print(text + "\x1b[J");
}

std::optional<std::string> Terminal::key(std::chrono::milliseconds time) {
  if (typed_.empty()) {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    if (::poll(&input, 1, static_cast<int>(time.count())) <= 0) return std::nullopt;
    char bytes[64];
    const auto read = ::read(STDIN_FILENO, bytes, sizeof bytes);
    if (read <= 0) throw Error("the terminal is gone");
    typed_.assign(bytes, static_cast<std::size_t>(read));
  }
  for (const auto& [bytes, name] : named_keys) {
    if (!typed_.starts_with(bytes)) continue;
    typed_.erase(0, bytes.size());
    return std::string(name);
  }
  if (typed_[0] == '\x1b') {  // a key without a name, or escape alone
    typed_.clear();
    return "escape";
  }
  auto one = typed_.substr(0, 1);
  typed_.erase(0, 1);
  return one;
}

}  // namespace seriatim::app::top
