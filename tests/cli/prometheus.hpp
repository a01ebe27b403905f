#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "console/probe_client.hpp"
#include "lab/process/free_port.hpp"
#include "seriatim/error.hpp"
#include "support/encoding.hpp"
#include "support/process.hpp"

namespace seriatim::testing {

inline std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline const std::filesystem::path rules_file =
    std::filesystem::path(SERIATIM_SOURCE_DIR) / "contrib/prometheus/seriatim.rules.yml";

inline std::set<std::string> alerts_of(const std::string& rules) {
  std::set<std::string> names;
  const std::regex alert("- alert: (\\w+)");
  for (std::sregex_iterator one(rules.begin(), rules.end(), alert), end; one != end; ++one) {
    names.insert((*one)[1].str());
  }
  return names;
}

/// Debian's Alertmanager, which sends every alert to `url` by itself. Stopped by the destructor.
class Alertmanager {
 public:
  Alertmanager(const TemporaryFolder& folder, const std::string& url) {
    const auto file = folder.path() / "alertmanager.yml";
    std::ofstream(file) << "route: {receiver: test, group_by: ['...'], group_wait: 0s, "
                           "group_interval: 1s, repeat_interval: 4h}\n"
                           "receivers:\n- name: test\n  webhook_configs: [{url: '"
                        << url << "', send_resolved: true}]\n";
    Process::Options options;
    options.out_file = options.err_file = (folder.path() / "alertmanager.err").string();
    process_ = std::make_unique<Process>(
        std::vector<std::string>{"prometheus-alertmanager", "--config.file=" + file.string(),
                                 "--storage.path=" + (folder.path() / "alertmanager").string(),
                                 "--web.listen-address=" + address_, "--cluster.listen-address="},
        options);
  }
  [[nodiscard]] const std::string& address() const { return address_; }

 private:
  std::string address_ = "127.0.0.1:" + std::to_string(lab::free_port());
  std::unique_ptr<Process> process_;
};

/// Debian's Prometheus, which scrapes relays and judges rules each second. Stopped by the
/// destructor.
class Prometheus {
 public:
  /// `ports` of relays on 127.0.0.1; without the address of an Alertmanager nobody is alerted.
  Prometheus(const TemporaryFolder& folder, const std::filesystem::path& rules,
             const std::vector<std::string>& ports, const std::string& alertmanager = {}) {
    const auto file = folder.path() / "prometheus.yml";
    std::ofstream out(file);
    out << "global: {scrape_interval: 1s, evaluation_interval: 1s}\nrule_files: ['"
        << rules.string() << "']\n";
    if (!alertmanager.empty()) {
      out << "alerting: {alertmanagers: [{static_configs: [{targets: ['" << alertmanager
          << "']}]}]}\n";
    }
    out << "scrape_configs:\n- job_name: seriatim\n  static_configs:\n  - targets:\n";
    for (const auto& port : ports) out << "    - 127.0.0.1:" << port << '\n';
    out.close();
    Process::Options options;
    options.out_file = options.err_file = (folder.path() / "prometheus.err").string();
    process_ = std::make_unique<Process>(
        std::vector<std::string>{"prometheus", "--config.file=" + file.string(),
                                 "--storage.tsdb.path=" + (folder.path() / "tsdb").string(),
                                 "--web.listen-address=127.0.0.1:" + std::to_string(port_),
                                 "--log.level=warn"},
        options);
  }

  /// Its answer in JSON; "" if it does not answer.
  [[nodiscard]] std::string query(const std::string& expression) const {
    try {
      return console::ask("127.0.0.1", port_,
                          "/api/v1/query?query=" + handlers::percent_encode(expression),
                          std::chrono::seconds{10})
          .body;
    } catch (const Error&) {
      return "";
    }
  }
  [[nodiscard]] bool has_series(const std::string& expression) const {
    return query(expression).find("\"metric\"") != std::string::npos;
  }
  void wait_for_series(const std::string& expression) const {
    wait_until("Prometheus has " + expression, [&] { return has_series(expression); });
  }

 private:
  unsigned short port_ = static_cast<unsigned short>(lab::free_port());
  std::unique_ptr<Process> process_;
};

}  // namespace seriatim::testing
