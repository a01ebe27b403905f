#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

namespace boost::asio::ssl {
class context;
}

namespace seriatim::console {

/// PEM files of a certificate (with its chain) and its key.
struct Certificate {
  std::string file;
  std::string key_file;
};

/// What TLS is spoken with. The files are read again once they have changed; if they cannot be used
/// then (one of the two is still the old one), what was read before stays.
class TlsContext {
 public:
  using Warn = std::function<void(const std::string&)>;

  /// Throws Error if the files cannot be used.
  TlsContext(Certificate certificate, Warn warn);

  /// For the next connection.
  [[nodiscard]] std::shared_ptr<boost::asio::ssl::context> current();

 private:
  using Stamp = std::pair<std::filesystem::file_time_type, std::filesystem::file_time_type>;
  [[nodiscard]] Stamp stamp() const;

  Certificate certificate_;
  Warn warn_;
  Stamp stamp_;
  Stamp warned_at_;
  std::shared_ptr<boost::asio::ssl::context> context_;
};

}  // namespace seriatim::console
