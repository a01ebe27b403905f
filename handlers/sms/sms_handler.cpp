#include "sms/sms_handler.hpp"

#include <algorithm>
#include <utility>

#include "seriatim/handlers.hpp"
#include "sms/provider_error.hpp"
#include "support/cannot_render.hpp"
#include "support/encoding.hpp"

namespace seriatim::handlers {

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// ITU-T E.164: a country code that does not begin with 0, at most 15 digits in all.
bool is_e164(std::string_view text) {
  constexpr std::size_t digits_min = 7;
  constexpr std::size_t digits_max = 15;
  if (!text.starts_with('+')) return false;
  text.remove_prefix(1);
  return text.size() >= digits_min && text.size() <= digits_max && text.front() != '0' &&
         std::all_of(text.begin(), text.end(), is_digit);
}

// Messages never quote the number or the text: they are somebody's.
std::string checked_to(std::string to) {
  if (!is_e164(to)) {
    throw CannotRender(
        "`to` does not give a number like +4560000000 (E.164: +, country code, "
        "digits only)");
  }
  return to;
}

std::string checked_from(std::string from) {
  constexpr std::size_t bytes_max = 64;
  const bool printable = std::all_of(from.begin(), from.end(), [](char c) { return c >= ' '; });
  if (from.empty() || from.size() > bytes_max || !printable) {
    throw CannotRender("`from` does not give a number, a short code or a sender's name");
  }
  return from;
}

std::string checked_body(std::string body) {
  if (body.empty()) throw CannotRender("`body` gives an empty text");
  return body;
}

}  // namespace

SmsHandler::SmsHandler(SmsHandlerConfig config)
    : to_(config.to, Escaping::none),
      from_(config.from, Escaping::none),
      body_(config.body, Escaping::none),
      sender_(std::move(config.target)) {
  headers_.add("Content-Type", "application/x-www-form-urlencoded");
}

SmsHandler::Text SmsHandler::text_of(TemplateValues& values) const {
  Text made{checked_to(to_.render(values)), {}, {}};
  const auto from = checked_from(from_.render(values));
  made.text = checked_body(body_.render(values));
  made.form = "To=" + form_encode(made.to) + "&From=" + form_encode(from) +
              "&Body=" + form_encode(made.text);
  return made;
}

HttpMessage SmsHandler::Text::message(const HeaderLines& headers) const {
  return {headers, form, {to, std::string_view(to).substr(1), text}};
}

std::optional<Rendering> SmsHandler::render(const Record& record) {
  TemplateValues values(record);
  return sender_.render(record, values, text_of(values).message(headers_));
}

Outcome SmsHandler::handle_record(const Record& record, const CallContext& context) {
  TemplateValues values(record);
  const auto text = text_of(values);
  const auto message = text.message(headers_);
  auto result = sender_.post(record, values, message, context);
  if (auto* answer = std::get_if<HttpAnswer>(&result)) {
    answer->body = provider_error_text(answer->body);
  }
  return sender_.judge(result, record, message);
}

void register_sms(HandlerRegistry& registry) {
  registry.add({"sms", "a text message: one form POST (To, From, Body) a record",
                [](Options& options) -> HandlerFactory {
                  auto config = read_sms_config(options);
                  return [config = std::move(config)](unsigned) {
                    return std::make_unique<SmsHandler>(config);
                  };
                }});
}

}  // namespace seriatim::handlers
