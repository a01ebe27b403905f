// What one POST costs over a kept connection, plain and with TLS, in turns: processor time of the
// client's thread and time by the clock. The receiver is a process of its own.
// To compare two revisions, build `post_bench` in both and start the two in turns.
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "handler_rate.hpp"
#include "lab/http/http_service.hpp"
#include "lab/process/temporary_folder.hpp"
#include "seriatim/error.hpp"
#include "support/certificates.hpp"
#include "support/http_client.hpp"

using namespace seriatim;
using namespace seriatim::handlers;
using namespace std::chrono_literals;

namespace {

/// Starts a receiver in a child, which ends with this program.
std::string start_receiver(const lab::HttpServiceConfig& config) {
  int ends[2];
  if (pipe(ends) != 0) throw Error("no pipe");
  if (fork() == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    lab::HttpService receiver(config);
    const auto url = receiver.url() + '\n';
    if (write(ends[1], url.data(), url.size()) < 0) _exit(1);
    pause();
    _exit(0);
  }
  close(ends[1]);
  std::string url;
  for (char one = 0; read(ends[0], &one, 1) == 1 && one != '\n';) url += one;
  close(ends[0]);
  return url;
}

struct Cost {
  double cpu_us;
  double wall_us;
};

Cost cost_of(HttpClient& client, const Url& url, int count) {
  HeaderLines headers;
  headers.add("Content-Type", "application/json");
  headers.add("Idempotency-Key", "bookings-4711");
  const std::string body(300, 'x');
  const auto began = std::chrono::steady_clock::now();
  const auto cpu = testing::thread_cpu_seconds();
  for (int i = 0; i < count; ++i) {
    const auto result = client.post({url, headers, body}, std::chrono::steady_clock::now() + 10s);
    if (!std::holds_alternative<HttpAnswer>(result)) {
      throw Error(std::get<HttpFailure>(result).what);
    }
  }
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - began;
  return {(testing::thread_cpu_seconds() - cpu) * 1e6 / count, took.count() / count};
}

void print(const char* what, std::vector<Cost> costs) {
  const auto median = [&](double Cost::*figure) {
    std::sort(costs.begin(), costs.end(),
              [&](const Cost& a, const Cost& b) { return a.*figure < b.*figure; });
    return costs[costs.size() / 2].*figure;
  };
  const auto cpu = median(&Cost::cpu_us);
  std::printf("%s: %.1f µs CPU (least %.1f), ", what, cpu, costs.front().cpu_us);
  std::printf("%.1f µs by the clock a POST\n", median(&Cost::wall_us));
}

}  // namespace

TEST_CASE("a POST, plain and with TLS") {
  const testing::CertificateAuthority authority;
  const auto leaf = authority.issue({.ip_addresses = {"127.0.0.1"}});
  const lab::TemporaryFolder folder;
  const auto ca = (folder.path() / "ca.pem").string();
  std::ofstream(ca) << authority.certificate();
  const auto plain = parse_url(start_receiver({}));
  const auto tls = parse_url(start_receiver({.certificate = leaf.certificate, .key = leaf.key}));
  HttpClient client({.allow_private = true, .ca_file = ca});
  HttpClient tls_client({.allow_private = true, .ca_file = ca});
  std::vector<Cost> plain_costs;
  std::vector<Cost> tls_costs;
  for (int turn = 0; turn < 7; ++turn) {
    plain_costs.push_back(cost_of(client, plain, 20'000));
    tls_costs.push_back(cost_of(tls_client, tls, 20'000));
  }
  print("plain", plain_costs);
  print("TLS", tls_costs);
}
