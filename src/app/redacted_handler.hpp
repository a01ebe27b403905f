#pragma once

#include "app/secrets.hpp"
#include "seriatim/handler.hpp"

namespace seriatim::app {

/// The same handler, but what it says of a receiver is cleared of secrets before it goes into the
/// database: the handler knows its own, a receiver may repeat those of URL and environment too. Its
/// renderings are cleared of them as well, and of what a header's name says is secret.
///
/// Lifetime: `secrets` outlives the handlers made.
[[nodiscard]] HandlerFactory redacted(HandlerFactory factory, const Secrets& secrets);

}  // namespace seriatim::app
