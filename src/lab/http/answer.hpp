#pragma once

#include <string>

namespace seriatim::lab {

struct Reply;

/// What goes over the wire for this reply, but for its filler. Written as text, by no library: a
/// script may answer what no library would.
std::string answer_text(const Reply& reply);

}  // namespace seriatim::lab
