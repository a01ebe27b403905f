#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace seriatim::handlers {

/// The head of an HTTP answer, made fit for a strict parser.
///
/// RFC 9112 has a recipient take a bare LF for the end of a line (§2.2) and leaves the reason
/// phrase out (§4); some senders leave out the space before it too. Beast's parser refuses both
/// forms. The body is not touched: its framing stays strict.

/// False once no more bytes can make a status line of these.
[[nodiscard]] bool may_begin_answer(std::string_view bytes);

/// Size of the head at the start of `bytes`, with its blank line; 0: it is not whole yet.
/// `line` is 0 for a new head and is kept between calls: where the first line without an end
/// begins.
[[nodiscard]] std::size_t head_size(std::string_view bytes, std::size_t& line);

struct StrictHead {
  std::string text;            ///< lines end in CR LF, a space follows the status code
  bool has_bare_line = false;  ///< a line of the original ended in LF alone
};

/// Writes into `strict`, whose memory is used again. `head` is whole and may begin an answer.
void make_strict(std::string_view head, StrictHead& strict);

}  // namespace seriatim::handlers
