#pragma once

#include <optional>
#include <string>
#include <vector>

#include "seriatim/error.hpp"
#include "seriatim/record.hpp"

namespace seriatim {

/// What a handler would send for one record, for people. A value that only the delivery knows is in
/// angle brackets: "<time of the call>".
struct Rendering {
  std::vector<Header> envelope;     ///< where it goes: "method" and "url", or "topic" and "key"
  std::vector<Header> headers;      ///< as they go out, in order
  std::optional<std::string> body;  ///< absent: none is sent
};

/// This record cannot be put into the form that the receiver wants, now or later. `what()` names
/// the part and never quotes the record. Now: answer `poison`, as RecordHandler does by itself.
class CannotRender : public Error {
 public:
  using Error::Error;
};

/// In place of a secret.
inline constexpr const char* masked = "***";

}  // namespace seriatim
