#pragma once

#include <optional>
#include <string>
#include <vector>

#include "support/broker_server.hpp"

namespace seriatim::testing {

/// A RabbitMQ server of its own, with an Erlang port mapper of its own. A start takes seconds.
class RabbitmqServer final : public BrokerServer {
 public:
  struct Options {
    std::string settings;  ///< further lines of rabbitmq.conf
    bool started = true;
    bool tls = false;  ///< then it speaks nothing else
  };

  RabbitmqServer() : RabbitmqServer(Options{}) {}
  explicit RabbitmqServer(Options options);
  ~RabbitmqServer() override { kill(); }  // before its mapper of ports

  [[nodiscard]] std::string url() const;

  /// rabbitmqctl with these words, on this server; takes a second. Throws with what it said if
  /// it fails.
  std::string control(std::vector<std::string> words) const;

 private:
  [[nodiscard]] std::vector<std::string> in_folder(const std::string& program) const;
  [[nodiscard]] std::vector<std::string> command() const override;
  bool answers() override;

  Options wanted_;
  int port_between_nodes_;
  int port_of_mapper_;
  std::optional<lab::Process> mapper_;
};

}  // namespace seriatim::testing
