#include "support/certificates.hpp"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <atomic>
#include <stdexcept>

namespace seriatim::testing {

namespace {

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using X509Ptr = std::unique_ptr<X509, decltype(&X509_free)>;
using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;

Key make_key() {
  return {EVP_EC_gen("P-256"), EVP_PKEY_free};
}

std::string text_of(const Bio& bio) {
  char* data = nullptr;
  const auto size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

std::string pem(X509* certificate) {
  const Bio bio(BIO_new(BIO_s_mem()), BIO_free);
  PEM_write_bio_X509(bio.get(), certificate);
  return text_of(bio);
}

std::string pem(EVP_PKEY* key) {
  const Bio bio(BIO_new(BIO_s_mem()), BIO_free);
  PEM_write_bio_PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr);
  return text_of(bio);
}

void add_extension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  std::unique_ptr<X509_EXTENSION, decltype(&X509_EXTENSION_free)> extension(
      X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()), X509_EXTENSION_free);
  if (!extension) throw std::runtime_error("certificate extension refused: " + value);
  X509_add_ext(certificate, extension.get(), -1);
}

void set_name(X509* certificate, const std::string& name) {
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
}

X509Ptr make_certificate(EVP_PKEY* key, const std::string& name, std::chrono::hours starts,
                         std::chrono::hours ends) {
  static std::atomic<long> serial{1};
  X509Ptr certificate(X509_new(), X509_free);
  X509_set_version(certificate.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), serial++);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), std::chrono::seconds(starts).count());
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), std::chrono::seconds(ends).count());
  X509_set_pubkey(certificate.get(), key);
  set_name(certificate.get(), name);
  return certificate;
}

std::string subject_names(const CertificateRequest& request) {
  std::string names;
  for (const auto& name : request.dns_names) names += (names.empty() ? "DNS:" : ",DNS:") + name;
  for (const auto& ip : request.ip_addresses) names += (names.empty() ? "IP:" : ",IP:") + ip;
  return names;
}

Certificate sign(const CertificateRequest& request, X509* issuer, EVP_PKEY* issuer_key) {
  const auto key = make_key();
  const auto certificate = make_certificate(key.get(), "receiver", request.starts, request.ends);
  X509_set_issuer_name(certificate.get(),
                       X509_get_subject_name(issuer ? issuer : certificate.get()));
  add_extension(certificate.get(), issuer ? issuer : certificate.get(), NID_subject_alt_name,
                subject_names(request));
  X509_sign(certificate.get(), issuer_key ? issuer_key : key.get(), EVP_sha256());
  return {pem(certificate.get()), pem(key.get())};
}

}  // namespace

struct CertificateAuthority::Impl {
  Key key = make_key();
  X509Ptr certificate = make_certificate(key.get(), "test authority", std::chrono::hours(-1000),
                                         std::chrono::hours(48));
  std::string text;
};

CertificateAuthority::CertificateAuthority() : impl_(std::make_unique<Impl>()) {
  auto* certificate = impl_->certificate.get();
  X509_set_issuer_name(certificate, X509_get_subject_name(certificate));
  add_extension(certificate, certificate, NID_basic_constraints, "critical,CA:TRUE");
  add_extension(certificate, certificate, NID_key_usage, "critical,keyCertSign,cRLSign");
  X509_sign(certificate, impl_->key.get(), EVP_sha256());
  impl_->text = pem(certificate);
}

CertificateAuthority::~CertificateAuthority() = default;

const std::string& CertificateAuthority::certificate() const {
  return impl_->text;
}

Certificate CertificateAuthority::issue(const CertificateRequest& request) const {
  return sign(request, impl_->certificate.get(), impl_->key.get());
}

Certificate self_signed(const CertificateRequest& request) {
  return sign(request, nullptr, nullptr);
}

}  // namespace seriatim::testing
