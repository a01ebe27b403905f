// Tests whose server cannot be had are skipped, never passed and never failed.
#include <doctest/doctest.h>
#include <unistd.h>

#include "support/process.hpp"
#include "support/skip.hpp"

using namespace seriatim::testing;

TEST_SUITE("missing servers") {
#ifdef KAFKA_CONTRACT_TEST
  TEST_CASE("Kafka's contract test is skipped if Kafka cannot be fetched") {
    Process::Options options;
    options.environment["XDG_CACHE_HOME"] = "/dev/null";
    const auto ended = run({KAFKA_CONTRACT_TEST}, options);
    CHECK(ended.code == skipped_exit_code);
    CHECK(ended.out.starts_with("SKIPPED: every case: there is no Apache Kafka here: "));
  }
#endif

  TEST_CASE("tests with a name server are skipped if it cannot bind its address") {
    std::vector<std::string> command{DNS_FAULTS_TEST};
    if (::geteuid() == 0) {  // else it takes root before it takes an address
      const std::vector<std::string> deprived{"unshare", "--net", "setpriv",
                                              "--bounding-set=-net_bind_service",
                                              "--inh-caps=-net_bind_service"};
      auto trial = deprived;
      trial.emplace_back("true");
      if (run(trial).code != 0) SKIP_TEST("no network namespaces here");
      command.insert(command.begin(), deprived.begin(), deprived.end());
    }
    const auto ended = run(command);
    CHECK(ended.code == skipped_exit_code);
    CHECK(ended.out.starts_with("SKIPPED: every case: "));
  }
}
