#pragma once

/// Everything a program needs that runs processes of its own: one include instead of these.
/// To write a source, see source.hpp.

#include "seriatim/async_handler.hpp"
#include "seriatim/config.hpp"
#include "seriatim/error.hpp"
#include "seriatim/handler.hpp"
#include "seriatim/inbox.hpp"
#include "seriatim/observer.hpp"
#include "seriatim/outcome.hpp"
#include "seriatim/postgres.hpp"
#include "seriatim/receiver.hpp"
#include "seriatim/record.hpp"
#include "seriatim/registry.hpp"
#include "seriatim/relay.hpp"
#include "seriatim/rendering.hpp"
#include "seriatim/settings.hpp"
#include "seriatim/transaction.hpp"
#include "seriatim/version.hpp"
