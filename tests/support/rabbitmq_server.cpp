#include "support/rabbitmq_server.hpp"

#include <stdexcept>

#include "lab/process/free_port.hpp"
#include "support/rabbitmq_client.hpp"
#include "support/skip.hpp"

namespace seriatim::testing {

namespace {

const Need need([] {
  return why_missing("/usr/lib/rabbitmq/bin/rabbitmq-server", "rabbitmq-server");
});

constexpr const char* node = "seriatim@localhost";
constexpr const char* programs = "/usr/lib/rabbitmq/bin/";

}  // namespace

RabbitmqServer::RabbitmqServer(Options options)
    : BrokerServer({.name = "rabbitmq-server"}),
      wanted_(std::move(options)),
      port_between_nodes_(lab::free_port()),
      port_of_mapper_(lab::free_port()) {
  std::string settings;
  if (wanted_.tls) {
    certify({{}, {"127.0.0.1"}});
    settings = "listeners.tcp = none\nlisteners.ssl.default = 127.0.0.1:" + std::to_string(port()) +
               "\nssl_options.cacertfile = " + ca_file() +
               "\nssl_options.certfile = " + file("own.pem").string() +
               "\nssl_options.keyfile = " + file("own.key").string() + "\n";
  }
  write("rabbitmq.conf", settings + wanted_.settings);
  mapper_.emplace(
      std::vector<std::string>{"/usr/bin/epmd", "-port", std::to_string(port_of_mapper_),
                               "-address", "127.0.0.1"},
      program("mapper.log"));
  // A node that finds no mapper would start one that outlives us.
  lab::wait_until("epmd answers", [&] {
    return lab::run({"/usr/bin/epmd", "-port", std::to_string(port_of_mapper_), "-names"}).code ==
           0;
  });
  if (wanted_.started) start();
}

/// env(1) and what makes a server, or a tool for it, of this folder.
std::vector<std::string> RabbitmqServer::in_folder(const std::string& program) const {
  const auto data = file("data").string();
  return {"/usr/bin/env",
          "HOME=" + data,  // of the cookie
          "LC_ALL=C.UTF-8",
          "ERL_EPMD_PORT=" + std::to_string(port_of_mapper_),
          "RABBITMQ_CONF_ENV_FILE=" + data + "/none",
          std::string("RABBITMQ_NODENAME=") + node,
          "RABBITMQ_NODE_IP_ADDRESS=127.0.0.1",
          "RABBITMQ_NODE_PORT=" + std::to_string(port()),
          "RABBITMQ_DIST_PORT=" + std::to_string(port_between_nodes_),
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

std::vector<std::string> RabbitmqServer::command() const {
  return in_folder("rabbitmq-server");
}

bool RabbitmqServer::answers() {
  return wanted_.tls ? says("Server startup complete") : RabbitmqClient::can_log_in(port());
}

std::string RabbitmqServer::url() const {
  return (wanted_.tls ? "amqps" : "amqp") + ("://127.0.0.1:" + std::to_string(port()));
}

std::string RabbitmqServer::control(std::vector<std::string> words) const {
  auto command = in_folder("rabbitmqctl");
  command.insert(command.end(), {"-n", node, "-q"});
  command.insert(command.end(), words.begin(), words.end());
  const auto ended = lab::Process(command, program()).wait(options_.patience);
  if (ended.code != 0) throw std::runtime_error("rabbitmqctl " + words.at(0) + ": " + ended.out);
  return ended.out;
}

}  // namespace seriatim::testing
