#include "support/message_form.hpp"

#include <utility>

#include "support/cannot_render.hpp"
#include "support/cloud_event.hpp"
#include "support/header_text.hpp"
#include "support/option_checks.hpp"

namespace seriatim::handlers {

namespace {

using Body = MessageFormConfig::Body;

void read_body(Options& options, MessageFormConfig& config) {
  const auto text = options.text("body", "payload");
  config.body_template = options.text("template");
  if (text == "cloudevents") {
    config.body = Body::cloudevents;
  } else if (text == "cloudevents-structured") {
    config.body = Body::cloudevents_structured;
  } else if (text.find("{{") != std::string::npos) {
    config.body_template = text;
  } else if (text != "payload") {
    options.problem("body",
                    "must be \"payload\", \"cloudevents\", \"cloudevents-structured\" or a "
                    "mustache template");
  }
  if (config.body_template.empty()) return;
  if (options.has("template") && options.has("body")) {
    options.problem("template", "set either template or body");
  }
  config.body = Body::rendered;
}

Escaping escaping_of(const MessageFormConfig& config) {
  return config.content_type.find("json") != std::string::npos ? Escaping::json : Escaping::none;
}

}  // namespace

MessageFormConfig read_message_form(Options& options) {
  MessageFormConfig config;
  config.content_type = options.text("content_type", config.content_type);
  read_body(options, config);
  config.sends_content_type = options.has("content_type") || config.body == Body::cloudevents ||
                              config.body == Body::cloudevents_structured;
  try {
    check_header("Content-Type", config.content_type);
  } catch (const CannotRender& e) {
    options.problem("content_type", e.what());
  }
  check_template(options, options.has("template") ? "template" : "body", config.body_template,
                 escaping_of(config));
  return config;
}

std::optional<std::string_view> MessageBody::bytes() const {
  if (record_ == nullptr) return made_;
  if (!record_->payload) return std::nullopt;
  return *record_->payload;
}

MessageForm::MessageForm(MessageFormConfig config)
    : config_(std::move(config)),
      content_type_(config_.body == Body::cloudevents_structured ? cloud_event_content_type
                                                                 : config_.content_type),
      template_(config_.body_template, escaping_of(config_)) {}

MessageBody MessageForm::body_of(const Record& record) const {
  if (config_.body == Body::rendered) {
    TemplateValues values(record);
    return body_of(record, values);
  }
  if (config_.body != Body::cloudevents_structured) return MessageBody(record);
  return MessageBody(cloud_event_json(record, config_.content_type));
}

MessageBody MessageForm::body_of(const Record& record, TemplateValues& values) const {
  if (config_.body != Body::rendered) return body_of(record);
  return MessageBody(template_.render(values));
}

std::vector<Header> MessageForm::attributes_of(const Record& record) const {
  if (config_.body != Body::cloudevents) return {};
  return cloud_event_attributes(record);
}

}  // namespace seriatim::handlers
