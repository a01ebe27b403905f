#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "app/secrets.hpp"
#include "seriatim/options.hpp"
#include "seriatim/record.hpp"
#include "support/http_client.hpp"

namespace seriatim::app {

/// Where the program itself POSTs to, as a section of the configuration names it.
struct PostTarget {
  std::string url;
  std::vector<Header> headers;
  std::string ca_file;
  std::chrono::milliseconds timeout{2'000};  ///< of one request
};

/// Reads `url`, `headers`, `ca_file` and `timeout`. Any address may be reached, because no row has
/// a part in it. `secrets` learns the headers' values. `timeout`: if none is configured.
[[nodiscard]] PostTarget read_post_target(Options& section, Secrets& secrets,
                                          std::chrono::milliseconds timeout);

/// POSTs JSON to one target.
///
/// Threads: one user at a time.
class Poster {
 public:
  /// Throws Error for a target that `read_post_target` would have complained about.
  explicit Poster(const PostTarget& target);

  /// Returns by `deadline`. `more`: headers next to those configured. Throws Error for a `ca_file`
  /// that cannot be read.
  [[nodiscard]] handlers::HttpResult post(std::string_view json,
                                          std::chrono::steady_clock::time_point deadline,
                                          const handlers::HeaderLines& more = {});
  /// "http://127.0.0.1:4318"
  [[nodiscard]] std::string origin() const { return url_.origin(); }

 private:
  handlers::Url url_;
  handlers::HeaderLines headers_;
  handlers::HttpClient client_;
};

}  // namespace seriatim::app
