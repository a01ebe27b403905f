#include "lab/demo/child.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <boost/process.hpp>
#include <boost/process/extend.hpp>

#include "seriatim/error.hpp"

namespace seriatim::app {

namespace bp = boost::process;

namespace {

std::string this_program() {
  return std::filesystem::read_symlink("/proc/self/exe").string();
}

/// The child gets SIGTERM when its parent is gone: nothing is left running. A signal of the
/// terminal is for the parent, which then stops the child.
struct EndsWithParent : bp::extend::handler {
  template <class Executor>
  void on_exec_setup(Executor&) const {
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
  }
};

}  // namespace

struct RelayChild::Impl {
  bp::child child;
};

RelayChild::RelayChild(const std::vector<std::string>& arguments, const std::filesystem::path& log)
    : impl_(std::make_unique<Impl>()) {
  impl_->child =
      bp::child(this_program(), bp::args(arguments),
                bp::std_in<bp::null, (bp::std_out & bp::std_err)> log.string(), EndsWithParent{});
}

RelayChild::~RelayChild() {
  try {
    stop();
  } catch (const std::exception&) {  // ended already
  }
}

bool RelayChild::running() {
  return impl_->child.running();
}

int RelayChild::stop() {
  if (impl_->child.running()) ::kill(impl_->child.id(), SIGTERM);
  impl_->child.wait();
  return impl_->child.exit_code();
}

std::string seriatim_says(const std::vector<std::string>& arguments) {
  bp::ipstream pipe;
  bp::child child(this_program(), bp::args(arguments),
                  bp::std_in<bp::null, (bp::std_out & bp::std_err)> pipe, EndsWithParent{});
  std::string text(std::istreambuf_iterator<char>(pipe), {});
  child.wait();
  return text;
}

}  // namespace seriatim::app
