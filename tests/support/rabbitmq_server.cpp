#include "support/rabbitmq_server.hpp"

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "embedded/child_process.hpp"
#include "support/certificates.hpp"
#include "support/free_port.hpp"
#include "support/process.hpp"
#include "support/rabbitmq_client.hpp"
#include "support/skip.hpp"
#include "support/temporary_folder.hpp"

namespace seriatim::testing {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

namespace {

const Need need([] {
  return why_missing("/usr/lib/rabbitmq/bin/rabbitmq-server", "rabbitmq-server");
});

constexpr milliseconds patience{60'000};
constexpr const char* node = "seriatim@localhost";
constexpr const char* programs = "/usr/lib/rabbitmq/bin/";

void write_file(const fs::path& file, const std::string& text) {
  std::ofstream(file) << text;
}

}  // namespace

struct RabbitmqServer::Impl {
  Options options;
  TemporaryFolder folder;
  int port = free_port();
  int port_between_nodes = free_port();
  int port_of_mapper = free_port();
  pid_t mapper = 0;
  pid_t pid = 0;

  fs::path file(const std::string& name) const { return folder.path() / name; }

  void prepare() const {
    fs::create_directory(file("data"));
    std::string settings;
    if (options.tls) {
      const CertificateAuthority authority;
      const auto own = authority.issue({{}, {"127.0.0.1"}});
      write_file(file("ca.pem"), authority.certificate());
      write_file(file("own.pem"), own.certificate);
      write_file(file("own.key"), own.key);
      settings +=
          "listeners.tcp = none\nlisteners.ssl.default = 127.0.0.1:" + std::to_string(port) +
          "\nssl_options.cacertfile = " + file("ca.pem").string() +
          "\nssl_options.certfile = " + file("own.pem").string() +
          "\nssl_options.keyfile = " + file("own.key").string() + "\n";
    }
    write_file(file("rabbitmq.conf"), settings + options.settings);
    const auto account = embedded::server_account();  // no server runs as root
    if (account && ::chown(file("data").c_str(), account->uid, account->gid) != 0) {
      throw std::runtime_error("cannot give away " + file("data").string());
    }
  }

  /// env(1) and what makes a server, or a tool for it, of this folder.
  std::vector<std::string> in_folder(const std::string& program) const {
    const auto data = file("data").string();
    return {"/usr/bin/env",
            "HOME=" + data,  // of the cookie
            "LC_ALL=C.UTF-8",
            "ERL_EPMD_PORT=" + std::to_string(port_of_mapper),
            "RABBITMQ_CONF_ENV_FILE=" + data + "/none",
            std::string("RABBITMQ_NODENAME=") + node,
            "RABBITMQ_NODE_IP_ADDRESS=127.0.0.1",
            "RABBITMQ_NODE_PORT=" + std::to_string(port),
            "RABBITMQ_DIST_PORT=" + std::to_string(port_between_nodes),
            "RABBITMQ_MNESIA_BASE=" + data,
            "RABBITMQ_LOG_BASE=" + data + "/log",
            "RABBITMQ_LOGS=-",
            "RABBITMQ_QUORUM_DIR=" + data + "/quorum",
            "RABBITMQ_ENABLED_PLUGINS_FILE=" + data + "/plugins",
            "RABBITMQ_FEATURE_FLAGS_FILE=" + data + "/feature_flags",
            "RABBITMQ_GENERATED_CONFIG_DIR=" + data + "/config",
            "RABBITMQ_SCHEMA_DIR=" + data + "/schema",
            "RABBITMQ_CONFIG_FILE=" + file("rabbitmq").string(),
            "RABBITMQ_ADVANCED_CONFIG_FILE=" + data + "/none.config",
            "detached=1",  // no shell stays between us and the server
            programs + program};
  }

  void start() {
    if (pid != 0) return;
    const auto account = embedded::server_account();
    if (mapper == 0) {
      mapper = embedded::spawn(
          {"/usr/bin/epmd", "-port", std::to_string(port_of_mapper), "-address", "127.0.0.1"},
          account, file("mapper.log"));
    }
    pid = embedded::spawn(in_folder("rabbitmq-server"), account, file("log"));
    wait_until(
        "rabbitmq-server answers; its log: " + file("log").string(),
        [this] { return ended() || answers(); }, patience);
    if (pid == 0) throw std::runtime_error("rabbitmq-server ended at once: " + log());
  }

  bool answers() const {
    return options.tls ? log().find("Server startup complete") != std::string::npos
                       : RabbitmqClient::can_log_in(port);
  }

  bool ended() {
    if (!embedded::wait_for(pid, milliseconds{0})) return false;
    pid = 0;
    return true;
  }

  std::string log() const {
    std::ifstream in(file("log"));
    return {std::istreambuf_iterator<char>(in), {}};
  }

  /// It leads a group of its own.
  static void end(pid_t& pid, int signal) {
    if (pid == 0) return;
    ::kill(-pid, SIGCONT);
    ::kill(pid, signal);
    if (!embedded::wait_for(pid, patience)) {
      ::kill(-pid, SIGKILL);
      (void)embedded::wait_for(pid, patience);
    }
    pid = 0;
  }

  ~Impl() {
    end(pid, SIGKILL);
    end(mapper, SIGKILL);
  }
};

RabbitmqServer::RabbitmqServer() : RabbitmqServer(Options{}) {}

RabbitmqServer::RabbitmqServer(Options options) : impl_(std::make_unique<Impl>()) {
  impl_->options = std::move(options);
  impl_->prepare();
  if (impl_->options.started) impl_->start();
}

RabbitmqServer::~RabbitmqServer() = default;

void RabbitmqServer::start() {
  impl_->start();
}
void RabbitmqServer::stop() {
  Impl::end(impl_->pid, SIGTERM);
}
void RabbitmqServer::kill() {
  Impl::end(impl_->pid, SIGKILL);
}
void RabbitmqServer::freeze() {
  testing::freeze(impl_->pid);
}
void RabbitmqServer::thaw() {
  ::kill(impl_->pid, SIGCONT);
}

int RabbitmqServer::port() const {
  return impl_->port;
}

std::string RabbitmqServer::url() const {
  return (impl_->options.tls ? "amqps" : "amqp") + ("://127.0.0.1:" + std::to_string(port()));
}

std::string RabbitmqServer::ca_file() const {
  return impl_->file("ca.pem").string();
}

std::string RabbitmqServer::log() const {
  return impl_->log();
}

std::string RabbitmqServer::control(std::vector<std::string> words) const {
  auto command = impl_->in_folder("rabbitmqctl");
  command.insert(command.end(), {"-n", node, "-q"});
  command.insert(command.end(), words.begin(), words.end());
  const auto log = impl_->file("control.log");
  fs::remove(log);
  const auto pid = embedded::spawn(command, embedded::server_account(), log);
  const auto status = embedded::wait_for(pid, patience);
  std::ifstream in(log);
  std::string said(std::istreambuf_iterator<char>(in), {});
  if (!status || *status != 0) throw std::runtime_error("rabbitmqctl " + words.at(0) + ": " + said);
  return said;
}

}  // namespace seriatim::testing
