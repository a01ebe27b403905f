// TLS and unix sockets: what a console listens on besides a port.
#include <doctest/doctest.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <boost/asio/ssl.hpp>
#include <filesystem>
#include <fstream>
#include <thread>

#include "console/console_stage.hpp"
#include "console/probe_client.hpp"
#include "lab/process/temporary_folder.hpp"
#include "seriatim/error.hpp"
#include "support/certificates.hpp"

using namespace seriatim;
using namespace seriatim::testing;
using namespace std::chrono_literals;
namespace asio = boost::asio;
namespace fs = std::filesystem;
using console::HttpServer;

namespace {

/// A certificate and its key in files, as an administrator puts them there.
class CertificateFiles {
 public:
  CertificateFiles() { write(); }

  /// Another certificate. Its files are younger by a second each time.
  void write() {
    current = self_signed({.dns_names = {"localhost"}});
    write(files.file, current.certificate);
    write(files.key_file, current.key);
  }
  void write(const std::string& file, const std::string& text) {
    std::ofstream(file) << text;
    fs::last_write_time(file, started_ + std::chrono::seconds(++writes_));
  }

  lab::TemporaryFolder folder;
  console::Certificate files{folder.path() / "cert.pem", folder.path() / "key.pem"};
  testing::Certificate current;

 private:
  fs::file_time_type started_ = fs::file_time_type::clock::now();
  int writes_ = 0;
};

std::string pem_of(::X509* certificate) {
  const std::unique_ptr<::BIO, decltype(&::BIO_free)> bio(::BIO_new(::BIO_s_mem()), ::BIO_free);
  ::PEM_write_bio_X509(bio.get(), certificate);
  char* data = nullptr;
  const auto size = ::BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

struct TlsReply {
  std::string error;        ///< of the handshake
  std::string certificate;  ///< PEM
  Reply reply;
};

TlsReply ask_tls(const HttpServer& server, const Ask& ask, int version_max = TLS1_3_VERSION) {
  asio::io_context io;
  asio::ssl::context context(asio::ssl::context::tls_client);
  ::SSL_CTX_set_security_level(context.native_handle(), 0);  // or we would refuse TLS 1.1 ourselves
  ::SSL_CTX_set_min_proto_version(context.native_handle(), TLS1_VERSION);
  ::SSL_CTX_set_max_proto_version(context.native_handle(), version_max);
  asio::ssl::stream<asio::ip::tcp::socket> stream(io, context);
  stream.next_layer().connect({asio::ip::address_v4::loopback(), server.port()});
  TlsReply result;
  boost::system::error_code error;
  stream.handshake(asio::ssl::stream_base::client, error);
  if (error) return {error.message(), "", {}};
  const std::unique_ptr<::X509, decltype(&::X509_free)> peer(
      ::SSL_get1_peer_certificate(stream.native_handle()), ::X509_free);
  result.certificate = pem_of(peer.get());
  asio::write(stream, asio::buffer(ask.text()));
  std::string text;
  asio::read(stream, asio::dynamic_buffer(text), error);
  result.reply = reply_of(text);
  return result;
}

HttpServer::Settings with_tls(const CertificateFiles& certificate) {
  HttpServer::Settings settings;
  settings.tls = certificate.files;
  return settings;
}

HttpServer::Settings with_socket(const fs::path& path) {
  HttpServer::Settings settings;
  settings.unix_path = path;
  return settings;
}

Reply ask_unix(const fs::path& path, const Ask& ask) {
  UnixClient client(path.string());
  client.send(ask.text());
  return reply_of(client.rest());
}

/// As a process of this user would. The kernel keeps credentials by thread.
Reply ask_unix_as(unsigned uid, const fs::path& path, const Ask& ask) {
  Reply reply;
  std::thread([&] {
    if (::syscall(SYS_setresuid, -1, uid, -1) != 0) return;
    reply = ask_unix(path, ask);
  }).join();
  return reply;
}

const Ask retry = Ask::post("/api/v1/processes/p/acts", R"({"act":"retry"})");

}  // namespace

TEST_SUITE("what a console listens on") {
  TEST_CASE("30: TLS 1.1 is refused, and a certificate is exchanged without a restart") {
    CertificateFiles certificate;
    ConsoleStage stage(all_users(), with_tls(certificate));
    CHECK(stage.server->url().starts_with("https://127.0.0.1:"));
    const auto first = ask_tls(*stage.server, Ask::get("/livez"));
    CHECK(first.reply.status == 200);
    CHECK(first.certificate == certificate.current.certificate);
    CHECK(ask_tls(*stage.server, Ask::get("/livez"), TLS1_2_VERSION).reply.status == 200);
    const console::ProbePlace place{"127.0.0.1", stage.server->port(), "", true};
    CHECK(console::ask(place, "/livez", 5s).body == "all threads turn\n");
    const auto old = ask_tls(*stage.server, Ask::get("/livez"), TLS1_1_VERSION);
    CAPTURE(old.error);
    CHECK(old.error.find("alert protocol version") != std::string::npos);
    certificate.write();
    CHECK(ask_tls(*stage.server, Ask::get("/livez")).certificate ==
          certificate.current.certificate);
  }

  TEST_CASE("a certificate whose key is still the old one waits for it") {
    CertificateFiles certificate;
    const auto former = certificate.current;
    std::vector<std::string> warnings;
    auto settings = with_tls(certificate);
    settings.warn = [&](const std::string& text) { warnings.push_back(text); };
    ConsoleStage stage(all_users(), settings);
    const auto next = self_signed({.dns_names = {"localhost"}});
    certificate.write(certificate.files.file, next.certificate);
    for (int i = 0; i < 2; ++i) {
      CHECK(ask_tls(*stage.server, Ask::get("/livez")).certificate == former.certificate);
    }
    certificate.write(certificate.files.key_file, next.key);
    CHECK(ask_tls(*stage.server, Ask::get("/livez")).certificate == next.certificate);
    stage.server.reset();
    REQUIRE(warnings.size() == 1);
    CHECK(warnings[0].find("key.pem: cannot be used for TLS") != std::string::npos);
    CHECK(warnings[0].ends_with("the former ones stay"));
  }

  TEST_CASE("under TLS the cookie is sent over TLS only") {
    CertificateFiles certificate;
    ConsoleStage stage(all_users(), with_tls(certificate));
    const auto login =
        ask_tls(*stage.server, Ask::post("/api/v1/session", R"({"token":")" + alice_token + "\"}"));
    const auto cookie = login.reply.header("Set-Cookie");
    CHECK(cookie.starts_with("__Host-seriatim="));
    CHECK(cookie.ends_with("; Secure"));
    const auto value = cookie.substr(0, cookie.find(';'));
    const auto status = Ask::get("/api/v1/status").with("Cookie", value);
    CHECK(ask_tls(*stage.server, status).reply.status == 200);
  }

  TEST_CASE("files that are no certificate are named") {
    CertificateFiles certificate;
    std::ofstream(certificate.files.key_file) << "nonsense";
    CHECK_THROWS_WITH_AS(HttpServer(with_tls(certificate), {}),
                         doctest::Contains("key.pem: cannot be used for TLS"), Error);
  }

  TEST_CASE("a client that speaks no TLS gets no answer, and others do") {
    CertificateFiles certificate;
    const ConsoleStage stage(all_users(), with_tls(certificate));
    auto plain = client_of(*stage.server);
    plain.send(Ask::get("/livez").text());
    CHECK(plain.rest().find("200") == std::string::npos);
    CHECK(ask_tls(*stage.server, Ask::get("/livez")).reply.status == 200);
  }

  TEST_CASE("29: over a unix socket the user of this machine acts under its name") {
    const lab::TemporaryFolder folder;
    const auto path = folder.path() / "console.sock";
    ConsoleStage stage(nobody(), with_socket(path));
    CHECK(stage.server->url() == "unix:" + path.string());
    CHECK((fs::status(path).permissions() & fs::perms::mask) == fs::perms(0660));
    CHECK(ask_unix(path, retry).status == 200);
    CHECK(ask_unix(path, Ask::get("/api/v1/me")).body.find("\"needs_token\":false") !=
          std::string::npos);
    REQUIRE(stage.desk.acts().size() == 1);
    CHECK(stage.desk.acts()[0].who.ends_with(" (console unix socket)"));
    CHECK_FALSE(stage.desk.acts()[0].who.starts_with(" "));
    stage.server.reset();
    CHECK_FALSE(fs::exists(path));
  }

  TEST_CASE("29: a foreign user is refused, unless configured" * doctest::skip(::geteuid() != 0)) {
    constexpr unsigned foreign = 65534;
    const lab::TemporaryFolder folder;
    const auto path = folder.path() / "console.sock";
    {
      ConsoleStage stage(nobody(), with_socket(path));
      fs::permissions(path, fs::perms(0666));
      for (const auto& ask : {Ask::get("/"), Ask::get("/api/v1/status"), retry}) {
        CHECK(ask_unix_as(foreign, path, ask).status == 403);
      }
      CHECK(stage.desk.acts().empty());
      CHECK(stage.desk.statuses == 0);
    }
    {  // the name of the shared token is nobody's own
      ConsoleStage stage(console::Access::Settings{{{"nobody", console::Role::operator_,
                                                     "shared-token-shared-token", true}}},
                         with_socket(path));
      fs::permissions(path, fs::perms(0666));
      CHECK(ask_unix_as(foreign, path, retry).status == 403);
    }
    ConsoleStage stage(console::Access::Settings{{{"nobody", console::Role::viewer, ""}}},
                       with_socket(path));
    fs::permissions(path, fs::perms(0666));
    CHECK(ask_unix_as(foreign, path, Ask::get("/api/v1/status")).status == 200);
    CHECK(ask_unix_as(foreign, path, retry).status == 403);
  }

  TEST_CASE("a socket that a killed relay left is taken over, one in use is not") {
    const lab::TemporaryFolder folder;
    const auto path = folder.path() / "console.sock";
    {
      asio::io_context io;
      const asio::local::stream_protocol::acceptor left(io, path.string());
    }
    REQUIRE(fs::exists(path));
    const HttpServer first(with_socket(path), {});
    CHECK_THROWS_WITH_AS(HttpServer(with_socket(path), {}),
                         ("cannot listen on unix:" + path.string() +
                          ": Address already in use; name another address or port in [console]")
                             .c_str(),
                         Error);
    CHECK(ask_unix(path, Ask::get("/")).status == 404);
    CHECK(console::ask({.unix_path = path}, "/", 5s).status == 404);
  }
}
