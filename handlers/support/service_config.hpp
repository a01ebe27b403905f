#pragma once

#include <chrono>
#include <string>

#include "seriatim/options.hpp"
#include "support/http_client.hpp"
#include "support/message_form.hpp"
#include "support/url.hpp"

namespace seriatim::handlers {

/// A service that is not HTTP: where it is, who we are there, and what it is sent.
struct ServiceConfig {
  Url place;
  std::string username;
  std::string password;
  MessageFormConfig form;
  std::chrono::milliseconds connect_timeout{10'000};
  std::string ca_file;  ///< PEM; empty: the system's certificate authorities

  /// For a Connector. The place never comes from a record, so it may be a private address.
  [[nodiscard]] HttpClientConfig network() const;
};

/// Reads url, username, password, body, template, content_type, connect_timeout and ca_file;
/// problems are noted there. Returns the path of the url, decoded and without its first slash.
std::string read_service(Options& options, const ServiceScheme& scheme, ServiceConfig& config);

}  // namespace seriatim::handlers
