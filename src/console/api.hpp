#pragma once

#include <functional>
#include <string>
#include <vector>

#include "console/access.hpp"
#include "console/desk.hpp"
#include "console/events.hpp"
#include "console/http_message.hpp"
#include "console/recounts.hpp"

namespace seriatim::console {

/// The API of the console, `/api/v1`: docs/api.md. Who may what is decided before
/// (Access::refuse).
///
/// Threads: any.
class Api {
 public:
  struct Settings {
    std::string version;
    std::string relay;               ///< "host:pid"
    std::string payload = "hidden";  ///< or "masked"
    std::function<std::string(std::string)> redact = [](std::string text) { return text; };
    std::chrono::milliseconds interval{1'000};  ///< of events
  };

  /// `desk` and `access` must outlive it, and it the server that has its routes.
  Api(Desk& desk, Access& access, Settings settings);

  [[nodiscard]] std::vector<HttpRoute> routes();
  [[nodiscard]] std::size_t listeners() const { return events_.listeners(); }

 private:
  using Answer = std::string (Api::*)(const HttpRequest&);
  [[nodiscard]] HttpRoute route(const char* method, const char* path, Answer answer,
                                unsigned status = 200);
  [[nodiscard]] HttpResponse answered(const HttpRequest& request, Answer answer, unsigned status);

  std::string me(const HttpRequest& request);
  std::string status(const HttpRequest& request);
  std::string rows(const HttpRequest& request);
  std::string row(const HttpRequest& request);
  std::string parked(const HttpRequest& request);
  std::string history(const HttpRequest& request);
  std::string audits(const HttpRequest& request);
  std::string journal(const HttpRequest& request);
  std::string checks(const HttpRequest& request);
  std::string alerts(const HttpRequest& request);
  std::string relays(const HttpRequest& request);
  std::string act(const HttpRequest& request);
  std::string reveal(const HttpRequest& request);
  std::string start_recount(const HttpRequest& request);
  std::string stop_recount(const HttpRequest& request);
  HttpResponse listen(const HttpRequest& request);

  Desk& desk_;
  Access& access_;
  const Settings settings_;
  Events events_;
  Recounts recounts_;
};

}  // namespace seriatim::console
