#include "app/program.hpp"

#include <malloc.h>

#include <csignal>

#include "app/text.hpp"
#include "seriatim/error.hpp"

namespace seriatim::app {

namespace {

Exit fail(const std::string& what, Exit exit, const Secrets& secrets) {
  complain("seriatim: " + secrets.redact(what) + '\n');
  return exit;
}

Exit try_to(const std::function<Exit(Secrets&)>& work, Secrets& secrets) {
  try {
    return work(secrets);
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

}  // namespace

Exit say(const Answer& answer) {
  if (answer.exit == Exit::done) {
    print(answer.text);
  } else {
    complain(answer.text);
  }
  return answer.exit;
}

std::string usage_error(const std::string& verb, const std::string& what) {
  return "seriatim" + verb + ": " + printable(what, 1'000) + "\nsee: seriatim" + verb + " --help\n";
}

int run_program(const std::function<Exit(Secrets&)>& work) {
  keep_memory_of_batches();
  occupy_standard_files();
  std::signal(SIGPIPE, SIG_IGN);
  Secrets secrets;
  return static_cast<int>(try_to(work, secrets));
}

}  // namespace seriatim::app
