#include "lab/http/answer.hpp"

#include <boost/beast/core/string.hpp>

#include <algorithm>
#include <string_view>

#include "lab/http/http_service.hpp"

namespace seriatim::lab {

namespace {

std::string chunked(std::string_view body) {
  std::string out;
  while (!body.empty()) {
    const auto piece = body.substr(0, 7);
    out += std::to_string(piece.size());
    out += "\r\n";
    out += piece;
    out += "\r\n";
    body.remove_prefix(piece.size());
  }
  return out + "0\r\n\r\n";
}

/// The script says itself where its body ends.
bool is_framed(const Reply& reply) {
  return std::ranges::any_of(reply.headers, [](const auto& header) {
    return boost::beast::iequals(header.first, "content-length") ||
           boost::beast::iequals(header.first, "transfer-encoding");
  });
}

}  // namespace

std::string answer_text(const Reply& reply) {
  if (!reply.raw.empty()) return reply.raw;
  std::string out = "HTTP/1.1 " + std::to_string(reply.status) + " Said\r\n";
  for (const auto& [name, value] : reply.headers) out += name + ": " + value + "\r\n";
  if (reply.chunked) return out + "Transfer-Encoding: chunked\r\n\r\n" + chunked(reply.body);
  if (!is_framed(reply) && reply.status != 204 && reply.status != 304) {
    out += "Content-Length: " + std::to_string(reply.body.size() + reply.filler_bytes) + "\r\n";
  }
  return out + "\r\n" + reply.body;
}

}  // namespace seriatim::lab
