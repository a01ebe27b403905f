#pragma once

#include "seriatim/rendering.hpp"

namespace seriatim::handlers {

using seriatim::CannotRender;

}  // namespace seriatim::handlers
