#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "lab/http/http_service.hpp"

namespace seriatim::lab {

/// An SMS provider as the large ones appear from outside: form POST, 201 with a sid, 400 with a
/// JSON error for a number that does not exist.
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

  [[nodiscard]] std::string url() const { return service_.url("/Messages.json"); }
  /// What was accepted, in the order of arrival.
  [[nodiscard]] std::vector<Message> accepted() const;
  [[nodiscard]] std::size_t refused() const;

 private:
  Reply answer(const ReceivedRequest& request);

  mutable std::mutex mutex_;
  std::vector<Message> accepted_;
  std::size_t refused_ = 0;
  HttpService service_{{.record = false}};  ///< ends first: its threads use the rest
};

}  // namespace seriatim::lab
