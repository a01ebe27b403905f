#include "console/api.hpp"

#include <boost/json/serialize.hpp>
#include <charconv>

#include "console/order.hpp"

namespace seriatim::console {

namespace {

namespace json = boost::json;

const std::string& process_of(const HttpRequest& request) {
  return request.values.at("process");
}

std::optional<std::uint64_t> whole_number(const std::string& text) {
  std::uint64_t number = 0;
  const auto* const end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || last != end) return std::nullopt;
  return number;
}

unsigned number(const HttpRequest& request, const std::string& name, unsigned fallback,
                unsigned min, unsigned max) {
  const auto text = request.parameter(name);
  if (!text) return fallback;
  const auto value = whole_number(*text);
  if (!value || *value < min || *value > max) {
    throw Refused(
        name + " is no whole number from " + std::to_string(min) + " to " + std::to_string(max),
        "correct it, or leave it out for " + std::to_string(fallback));
  }
  return static_cast<unsigned>(*value);
}

unsigned limit_of(const HttpRequest& request, unsigned fallback) {
  return number(request, "limit", fallback, 1, 500);
}

std::string text(const HttpRequest& request, const char* name) {
  return request.parameter(name).value_or("");
}

/// The number of a journal entry or an alert, from which a page goes on.
std::string place(const HttpRequest& request, const char* name) {
  const auto value = text(request, name);
  if (!value.empty() && !whole_number(value)) {
    throw Refused(std::string(name) + " is no number of an entry", "send the `next` of a page");
  }
  return value;
}

/// Why a client may not act; null: it may.
json::value why_not(const Caller& caller, bool open) {
  if (caller.role == Role::operator_) return nullptr;
  if (caller.refused != 0) return json::string(caller.why);
  if (open) {
    return "no token is configured: set console.token or add a [[console.user]] with role = "
           "\"operator\"";
  }
  if (caller.role == Role::none) return "log in first";
  return json::string(caller.name + " may only read; ask a user whose role is operator");
}

}  // namespace

Api::Api(Desk& desk, Access& access, Settings settings)
    : desk_(desk),
      access_(access),
      settings_(std::move(settings)),
      events_(desk, {.interval = settings_.interval, .redact = settings_.redact}),
      recounts_(desk, events_) {}

/// The table of the API. need_of (access.hpp) says who may what.
std::vector<HttpRoute> Api::routes() {
  auto me_now = route("GET", "/api/v1/me", &Api::me);
  me_now.slow = false;
  return {
      std::move(me_now),
      route("GET", "/api/v1/status", &Api::status),
      route("GET", "/api/v1/processes/{process}/rows", &Api::rows),
      route("GET", "/api/v1/processes/{process}/row", &Api::row),
      route("GET", "/api/v1/processes/{process}/parked", &Api::parked),
      route("GET", "/api/v1/processes/{process}/history", &Api::history),
      route("GET", "/api/v1/processes/{process}/audit", &Api::audits),
      route("GET", "/api/v1/journal", &Api::journal),
      route("GET", "/api/v1/checks", &Api::checks),
      route("GET", "/api/v1/alerts", &Api::alerts),
      route("GET", "/api/v1/relays", &Api::relays),
      {"/api/v1/events", [this](const HttpRequest& request) { return listen(request); }},
      route("POST", "/api/v1/processes/{process}/acts", &Api::act),
      route("POST", "/api/v1/processes/{process}/reveal", &Api::reveal),
      route("POST", "/api/v1/processes/{process}/recounts", &Api::start_recount, 202),
      route("DELETE", "/api/v1/processes/{process}/recounts", &Api::stop_recount),
      {"/api/v1/session", [this](const HttpRequest& request) { return access_.log_in(request); },
       false, "POST"},
      {"/api/v1/session", [this](const HttpRequest& request) { return access_.log_out(request); },
       false, "DELETE"},
  };
}

HttpRoute Api::route(const char* method, const char* path, Answer answer, unsigned status) {
  return {path,
          [this, answer, status](const HttpRequest& request) {
            return answered(request, answer, status);
          },
          true, method};
}

HttpResponse Api::answered(const HttpRequest& request, Answer answer, unsigned status) {
  try {
    return {status, (this->*answer)(request), "application/json"};
  } catch (const NotFound& error) {
    return problem(404, settings_.redact(error.what()));
  } catch (const Conflict& error) {
    return problem(409, settings_.redact(error.what()), "read it again, then decide", error.status);
  } catch (const Refused& error) {
    return problem(422, settings_.redact(error.what()), settings_.redact(error.remedy));
  } catch (const Error& error) {
    return problem(503,
                   settings_.redact(std::string("the database cannot be asked: ") + error.what()),
                   "try again; see what was done before you repeat an act");
  } catch (const std::exception& error) {
    return problem(500, settings_.redact(std::string("this relay failed at it: ") + error.what()),
                   "see what was done before you repeat an act; report this");
  }
}

// --- reads ---------------------------------------------------------------------------------------

std::string Api::me(const HttpRequest& request) {
  const auto& caller = request.caller;
  json::object me{{"name", nullptr}, {"role", to_string(caller.role)}};
  if (!caller.name.empty()) me["name"] = caller.name;
  if (caller.role == Role::none) me["role"] = nullptr;
  me["may_act"] = caller.role == Role::operator_;
  me["why_not"] = why_not(caller, access_.is_open());
  me["needs_login"] = caller.role == Role::none;
  // A proxy or a socket says with each request who it is: a page asks for no token then.
  me["needs_token"] = caller.proof != Caller::Proof::proxy && caller.proof != Caller::Proof::socket;
  me["payload"] = settings_.payload;
  me["version"] = settings_.version;
  me["relay"] = settings_.relay;
  return json::serialize(me);
}

std::string Api::status(const HttpRequest&) {
  return desk_.snapshot().status;
}

std::string Api::rows(const HttpRequest& request) {
  return desk_.rows(process_of(request), number(request, "lane", 0, 0, 1023),
                    limit_of(request, 20));
}

std::string Api::row(const HttpRequest& request) {
  const auto id = text(request, "id");
  if (id.empty()) throw Refused("no row is named", "add ?id=");
  return desk_.row(process_of(request), id);
}

std::string Api::parked(const HttpRequest& request) {
  return desk_.parked(process_of(request), request.parameter("key"), text(request, "after"),
                      limit_of(request, 50));
}

std::string Api::history(const HttpRequest& request) {
  return desk_.history(process_of(request), number(request, "minutes", 60, 1, 1500));
}

std::string Api::audits(const HttpRequest& request) {
  return desk_.audits(process_of(request));
}

std::string Api::journal(const HttpRequest& request) {
  return desk_.journal(request.parameter("process"), place(request, "before"),
                       limit_of(request, 50));
}

std::string Api::checks(const HttpRequest&) {
  return desk_.checks();
}

std::string Api::alerts(const HttpRequest& request) {
  return desk_.alerts(place(request, "before"), limit_of(request, 50));
}

std::string Api::relays(const HttpRequest&) {
  return desk_.relays();
}

HttpResponse Api::listen(const HttpRequest& request) {
  auto last = request.header("last-event-id");
  if (last.empty()) last = text(request, "last_event_id");
  HttpResponse response;
  response.content_type = "text/event-stream";
  if (request.method != "HEAD") response.stream = events_.listen(whole_number(last));
  return response;
}

// --- acts ----------------------------------------------------------------------------------------

std::string Api::act(const HttpRequest& request) {
  auto order = order_of(process_of(request), request.body);
  order.who = who_of(request);
  return desk_.act(order);
}

std::string Api::reveal(const HttpRequest& request) {
  const auto glance = glance_of(request.body);
  return desk_.reveal(process_of(request), glance.row, who_of(request), glance.reason);
}

std::string Api::start_recount(const HttpRequest& request) {
  const auto& process = process_of(request);
  if (!desk_.knows(process))
    throw NotFound("no process of the configuration is called \"" + process + '"');
  recounts_.start(process, who_of(request));
  return json::serialize(json::object{{"process", process}, {"started", true}});
}

std::string Api::stop_recount(const HttpRequest& request) {
  recounts_.stop(process_of(request));
  return json::serialize(json::object{{"process", process_of(request)}, {"stopped", true}});
}

}  // namespace seriatim::console
