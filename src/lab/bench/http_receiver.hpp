#pragma once

#include <memory>
#include <string>

namespace seriatim::bench {

/// As fast as a receiver can be: a thread a connection, 200 to everything, nothing read of a
/// request but where it ends. Listens on a free loopback port.
class HttpReceiver {
 public:
  HttpReceiver();
  ~HttpReceiver();
  HttpReceiver(const HttpReceiver&) = delete;
  HttpReceiver& operator=(const HttpReceiver&) = delete;

  [[nodiscard]] unsigned short port() const;
  [[nodiscard]] std::string url() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace seriatim::bench
