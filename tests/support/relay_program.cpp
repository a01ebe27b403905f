#include "support/relay_program.hpp"

#include <fstream>

namespace seriatim::testing {

RelayProgram::RelayProgram(const TemporaryFolder& folder, const std::string& name,
                           const std::string& toml, const Hooks& hooks)
    : log_(folder.path() / (name + ".log")) {
  const auto config = folder.path() / (name + ".toml");
  std::ofstream(config) << toml;
  Process::Options options;
  options.out_file = (folder.path() / (name + ".out")).string();
  options.err_file = log_.string();
  options.environment = hooks;
  const auto* program = hooks.empty() ? SERIATIM_PROGRAM : SERIATIM_HOOKED_PROGRAM;
  process_ = std::make_unique<Process>(
      std::vector<std::string>{program, "run", "--config", config.string()}, options);
}

Ended RelayProgram::stop() {
  process_->signal(15);
  return process_->wait();
}

bool RelayProgram::has_ended() {
  return process_->wait_at_most(std::chrono::milliseconds(0)).has_value();
}

std::string RelayProgram::log() const {
  std::ifstream in(log_);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string http_process(const std::string& name, const std::string& table,
                         const std::string& order_by, const std::string& url,
                         const std::string& more, const std::string& more_source) {
  return "[[process]]\nname = \"" + name + "\"\n" + more + "[process.source]\ntable = \"" + table +
         "\"\norder_by = \"" + order_by + "\"\n" + more_source +
         "[process.handler]\nkind = \"http\"\nurl = \"" + url + "\"\nallow_private = true\n";
}

std::string database_section(const std::string& url) {
  return "[database]\nurl = \"" + url + "\"\n";
}

}  // namespace seriatim::testing
