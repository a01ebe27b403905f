#include "embedded/embedded_server.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <thread>

#include "support/postgres_fixture.hpp"

using seriatim::embedded::EmbeddedServer;
using seriatim::testing::shared_server;
using seriatim::testing::SqlSession;

namespace fs = std::filesystem;

namespace {

struct TemporaryFolder {
  fs::path path = shared_server().log_file().parent_path().parent_path() / "own";
  ~TemporaryFolder() { fs::remove_all(path); }
};

}  // namespace

TEST_CASE("a private server listens on loopback with the settings asked for") {
  SqlSession session(shared_server().url());
  CHECK(session.value("SHOW max_prepared_transactions") == "64");
  CHECK(session.value("SHOW listen_addresses") == "127.0.0.1");
  CHECK(session.value("SHOW server_encoding") == "UTF8");
}

TEST_CASE("a server stopped immediately comes back on the same port with what was committed") {
  TemporaryFolder folder;
  EmbeddedServer server({folder.path, {}, {}});
  const auto url = server.url();
  SqlSession(url).run("CREATE TABLE kept AS SELECT 7 AS n");
  server.stop(EmbeddedServer::Stop::immediate);
  CHECK_THROWS(SqlSession(url).value("SELECT 1"));
  server.start();
  CHECK(server.url() == url);
  CHECK(SqlSession(url).value("SELECT n FROM kept") == "7");
}

TEST_CASE("a folder with a database is used again, even where its path is too long for a socket") {
  TemporaryFolder folder;
  const auto deep = folder.path / std::string(100, 'd');
  {
    EmbeddedServer server({deep, {}, {}});
    SqlSession(server.url()).run("CREATE TABLE kept AS SELECT 8 AS n");
  }
  EmbeddedServer server({deep, {}, {}});
  CHECK(SqlSession(server.url()).value("SELECT n FROM kept") == "8");
}

TEST_CASE("a server ends with the thread that made it, and its folder can be used again") {
  TemporaryFolder folder;
  std::unique_ptr<EmbeddedServer> orphan;
  std::thread maker([&] {
    orphan = std::make_unique<EmbeddedServer>(EmbeddedServer::Options{folder.path, {}, {}});
  });
  maker.join();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (fs::exists(folder.path / "data" / "postmaster.pid")) {
    REQUIRE(std::chrono::steady_clock::now() < deadline);
    std::this_thread::yield();
  }
  orphan.reset();
  EmbeddedServer heir({folder.path, {}, {}});
  CHECK(SqlSession(heir.url()).value("SELECT 1") == "1");
}

TEST_CASE("a server that cannot start shows the end of its log") {
  TemporaryFolder folder;
  try {
    EmbeddedServer server({folder.path, {"shared_buffers=nonsense"}, {}});
    FAIL("it started");
  } catch (const std::runtime_error& e) {
    CHECK(std::string(e.what()).find("invalid value for parameter \"shared_buffers\"") !=
          std::string::npos);
  }
}
