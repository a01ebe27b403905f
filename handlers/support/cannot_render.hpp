#pragma once

#include "seriatim/error.hpp"

namespace seriatim::handlers {

/// This record cannot be put into the form the receiver wants, now or later. `what()` names the
/// part and never quotes the record. Now: answer `poison`.
class CannotRender : public Error {
 public:
  using Error::Error;
};

}  // namespace seriatim::handlers
