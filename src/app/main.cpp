// The command `seriatim`: parse, perform, and turn what went wrong into words and an exit code.
#include <malloc.h>

#include <csignal>

#include "app/command_line.hpp"
#include "app/text.hpp"
#include "seriatim/error.hpp"

namespace seriatim::app {

namespace {

Exit fail(const std::string& what, Exit exit, const Secrets& secrets) {
  complain("seriatim: " + secrets.redact(what) + '\n');
  return exit;
}

Exit perform(const Command& command) {
  Secrets secrets;
  try {
    Context context(command.common, secrets);
    return std::visit([&](const auto& verb) { return perform(verb, context); }, command.verb);
  } catch (const ConfigError& wrong) {
    return fail(wrong.what(), Exit::usage, secrets);
  } catch (const SessionLost& lost) {
    return fail(std::string("cannot use the database: ") + lost.what() +
                    "\nCheck [database] url and that the server takes connections.",
                Exit::failure, secrets);
  } catch (const std::exception& failed) {
    return fail(failed.what(), Exit::failure, secrets);
  }
}

/// Batches come and go. Memory that went back to the kernel with each, and came from it zeroed for
/// the next, was a quarter of the relay's work (`seriatim bench sql`: 0.34 → 0.25 CPU s per 100 000
/// rows, for 1 MB more). 32 MB is the most glibc takes.
void keep_memory_of_batches() {
#ifdef __GLIBC__
  ::mallopt(M_MMAP_THRESHOLD, 32 << 20);
  ::mallopt(M_TRIM_THRESHOLD, 64 << 20);
#endif
}

Exit answer(const Answer& told) {
  if (told.exit == Exit::done) {
    print(told.text);
  } else {
    complain(told.text);
  }
  return told.exit;
}

}  // namespace

}  // namespace seriatim::app

int main(int count, char** arguments) {
  using namespace seriatim::app;
  keep_memory_of_batches();
  occupy_standard_files();
  std::signal(SIGPIPE, SIG_IGN);
  try {
    const auto parsed = parse_command_line(count, arguments);
    const auto* command = std::get_if<Command>(&parsed);
    return static_cast<int>(command ? perform(*command) : answer(std::get<Answer>(parsed)));
  } catch (const std::exception& failed) {
    complain(std::string("seriatim: ") + failed.what() + '\n');
    return static_cast<int>(Exit::failure);
  }
}
