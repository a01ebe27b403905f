#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "console/event_stream.hpp"
#include "console/user.hpp"

namespace seriatim::console {

/// Who sent a request, and how that is known.
struct Caller {
  enum class Proof { none, loopback, bearer, cookie, proxy, socket };

  std::string name{};
  Role role = Role::none;
  Proof proof = Proof::none;
  unsigned refused = 0;  ///< not 0: what it showed as proof is wrong; the status to answer with
  std::string why{};     ///< … and the sentence
};

struct HttpRequest {
  std::string method{};
  std::string path{};   ///< without the query, as it was sent
  std::string query{};  ///< after the first '?', else empty
  std::string accept{};
  std::string authorization{};
  std::string peer{};                            ///< its address; empty: a unix socket
  std::optional<unsigned> peer_uid{};            ///< a unix socket: whose process it is
  bool encrypted = false;                        ///< it came over TLS
  std::map<std::string, std::string> headers{};  ///< names in lower case; several of one
                                                 ///< name are joined by a newline
  std::map<std::string, std::string> values{};   ///< of the route's `{name}`, decoded
  std::string body{};
  Caller caller{};

  /// Empty if absent.
  [[nodiscard]] std::string header(const std::string& lower_name) const;
  /// Decoded. Absent also if it is not sound (see percent_decoded).
  [[nodiscard]] std::optional<std::string> parameter(std::string_view name) const;
};

struct HttpResponse {
  unsigned status = 200;
  std::string body{};
  std::string content_type = "text/plain; charset=utf-8";
  std::vector<std::pair<std::string, std::string>> headers{};
  /// The body is what is pushed to it, until one end closes it.
  std::shared_ptr<EventStream> stream{};
};

/// A path and who answers it. Segments in braces stand for any name: "/p/{name}/row".
struct HttpRoute {
  std::string path;
  std::function<HttpResponse(const HttpRequest&)> respond;
  /// Its answer may take long (it asks the database): given by a worker. Others are given by the
  /// thread that serves all connections, and must not wait.
  bool slow = false;
  std::string method = "GET";  ///< GET stands for HEAD too
};

/// The text of a part of a path or query. Absent: a broken escape, a NUL, or no UTF-8.
[[nodiscard]] std::optional<std::string> percent_decoded(std::string_view text, bool plus = false);

/// Whether it is UTF-8 without control characters.
[[nodiscard]] bool is_plain_text(std::string_view text);

/// The values of the pattern's `{name}`; absent: `path` is another one. No value is "." or "..".
[[nodiscard]] std::optional<std::map<std::string, std::string>> match(std::string_view pattern,
                                                                      std::string_view path);

/// An error as RFC 9457 has it, with what to do. `now`: JSON of what the person should see instead.
[[nodiscard]] HttpResponse problem(unsigned status, std::string_view detail,
                                   std::string_view remedy = {}, std::string_view now = {});
/// The same for any path: text outside of the API.
[[nodiscard]] HttpResponse refusal(std::string_view path, unsigned status, std::string_view detail,
                                   std::string_view remedy = {});

}  // namespace seriatim::console
