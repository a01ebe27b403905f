#include "lab/demo/sms_provider.hpp"

#include <boost/url/params_encoded_view.hpp>
#include <boost/url/parse_query.hpp>
#include <map>

namespace seriatim::lab {

namespace {

std::map<std::string, std::string> form_of(const std::string& body) {
  std::map<std::string, std::string> fields;
  const auto parsed = boost::urls::parse_query(body);
  if (!parsed) return fields;
  boost::urls::encoding_opts plus_is_space;
  plus_is_space.space_as_plus = true;
  for (const auto& field : *parsed) {
    fields[field.key.decode(plus_is_space)] = field.value.decode(plus_is_space);
  }
  return fields;
}

}  // namespace

SmsProvider::SmsProvider() {
  service_.reply_with([this](const ReceivedRequest& request) { return answer(request); });
}

Reply SmsProvider::answer(const ReceivedRequest& request) {
  auto fields = form_of(request.body);
  Reply reply;
  reply.headers = {{"Content-Type", "application/json"}};
  const std::scoped_lock guard(mutex_);
  if (fields["To"].starts_with(unknown_numbers)) {
    refused_ += 1;
    reply.status = 400;
    reply.body =
        R"({"code": 21211, "message": "The 'To' number is not a valid phone number.", "status": 400})";
  } else {
    accepted_.push_back({request.header("Idempotency-Key").value_or(""),
                         request.header("Seriatim-Sequence").value_or(""), fields["To"],
                         fields["Body"]});
    reply.status = 201;
    reply.body = R"({"sid": "SM)" + std::to_string(accepted_.size()) + R"(", "status": "queued"})";
  }
  return reply;
}

std::vector<SmsProvider::Message> SmsProvider::accepted() const {
  const std::scoped_lock guard(mutex_);
  return accepted_;
}

std::size_t SmsProvider::refused() const {
  const std::scoped_lock guard(mutex_);
  return refused_;
}

}  // namespace seriatim::lab
