#pragma once

#include <span>

#include "seriatim/error.hpp"
#include "seriatim/handler.hpp"

namespace seriatim::runtime {

/// A handler's answer does not fit its call, so nobody knows what the receiver has.
class BrokenAnswer : public Error {
 public:
  using Error::Error;
};

/// Calls the handler. Throws BrokenAnswer for an answer that handler.hpp does not allow.
[[nodiscard]] BatchOutcome call_checked(Handler& handler, std::span<const Record> batch,
                                        const CallContext& context);

}  // namespace seriatim::runtime
