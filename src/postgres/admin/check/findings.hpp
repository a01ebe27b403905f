#pragma once

#include <string>
#include <utility>
#include <vector>

#include "postgres/admin/check/check.hpp"

namespace seriatim::postgres {

/// Gathers what the checks find, in the order a person reads it.
class Findings {
 public:
  void ok(std::string what) { add(Finding::Severity::ok, std::move(what), {}); }
  void warn(std::string what, std::string remedy) {
    add(Finding::Severity::warning, std::move(what), std::move(remedy));
  }
  void refuse(std::string what, std::string remedy) {
    add(Finding::Severity::refusal, std::move(what), std::move(remedy));
  }
  [[nodiscard]] bool refused() const { return refused_; }
  std::vector<Finding> take() { return std::move(list_); }

 private:
  void add(Finding::Severity severity, std::string what, std::string remedy) {
    refused_ = refused_ || severity == Finding::Severity::refusal;
    list_.push_back({severity, std::move(what), std::move(remedy)});
  }

  std::vector<Finding> list_;
  bool refused_ = false;
};

}  // namespace seriatim::postgres
