#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace seriatim::app {

/// An SMS provider as the large ones look from outside: form POST, 201 with a sid, 400 with a JSON
/// error for a number that does not exist. Listens on a free loopback port, on a thread of its own.
class SmsProvider {
 public:
  /// Numbers starting so are answered with 400.
  static constexpr const char* unknown_numbers = "+45000";

  struct Message {
    std::string idempotency_key;
    std::string sequence;
    std::string to;
    std::string body;
  };

  SmsProvider();
  ~SmsProvider();
  SmsProvider(const SmsProvider&) = delete;
  SmsProvider& operator=(const SmsProvider&) = delete;

  [[nodiscard]] std::string url() const;
  /// What was accepted, in the order of arrival.
  [[nodiscard]] std::vector<Message> accepted() const;
  [[nodiscard]] std::size_t refused() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace seriatim::app
