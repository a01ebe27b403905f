#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace seriatim::testing {

struct CertificateRequest {
  std::vector<std::string> dns_names;     ///< subjectAltName DNS entries
  std::vector<std::string> ip_addresses;  ///< subjectAltName IP entries
  std::chrono::hours starts{-1};          ///< from now
  std::chrono::hours ends{24};            ///< from now; negative: expired
};

struct Certificate {
  std::string certificate;  ///< PEM
  std::string key;          ///< PEM
};

/// A certificate authority that lives as long as the test.
class CertificateAuthority {
 public:
  CertificateAuthority();
  ~CertificateAuthority();
  CertificateAuthority(const CertificateAuthority&) = delete;
  CertificateAuthority& operator=(const CertificateAuthority&) = delete;

  [[nodiscard]] const std::string& certificate() const;  ///< PEM, for `ca_file`
  [[nodiscard]] Certificate issue(const CertificateRequest& request) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

[[nodiscard]] Certificate self_signed(const CertificateRequest& request);

}  // namespace seriatim::testing
