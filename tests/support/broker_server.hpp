#pragma once

#include <fstream>
#include <string>

#include "lab/process/server_process.hpp"
#include "support/certificates.hpp"

namespace seriatim::testing {

/// A broker's server in a temporary folder, with data/ its own.
class BrokerServer : public lab::ServerProcess {
 public:
  /// For TLS: the authority a client trusts, a PEM file.
  [[nodiscard]] std::string ca_file() const { return file("ca.pem").string(); }

 protected:
  explicit BrokerServer(Options options) : ServerProcess(std::move(options)) {
    make_folder(file("data"));
  }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(file(name)) << text;
  }
  /// ca.pem, and own.pem and own.key of the server.
  void certify(const CertificateRequest& request) const {
    const CertificateAuthority authority;
    const auto own = authority.issue(request);
    write("ca.pem", authority.certificate());
    write("own.pem", own.certificate);
    write("own.key", own.key);
  }
};

}  // namespace seriatim::testing
