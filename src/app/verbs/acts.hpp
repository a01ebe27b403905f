#pragma once

#include "app/verbs/verbs.hpp"

namespace seriatim::app {

/// Tells what an act did.
Exit tell_act(const Context& context, const std::string& process, const postgres::ActResult& done);

}  // namespace seriatim::app
