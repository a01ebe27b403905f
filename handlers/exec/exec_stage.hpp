#pragma once

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

#include "exec/exec_handler.hpp"
#include "support/handler_calls.hpp"
#include "support/process.hpp"

namespace seriatim::handlers {

/// A handler, the program it runs, and the file "out" of the folder the program runs in.
class ExecStage {
 public:
  explicit ExecStage(ExecHandlerConfig config) : config_(std::move(config)) {
    config_.working_directory = folder_.path().string();
    handler_ = std::make_unique<ExecHandler>(config_, [this](const HandlerNote& note) {
      const std::lock_guard lock(mutex_);
      notes_ += note.process + '/' + std::to_string(note.lane) + ' ' + note.text + '\n';
    });
  }
  /// A shell script that may call `done`, or `answer` with further members of the answer, for the
  /// record in $line.
  static ExecHandlerConfig script(const std::string& text) {
    ExecHandlerConfig config;
    config.command = {"/bin/sh", "-c",
                      "answer() { id=${line#*'\"id\":\"'}; id=${id%%'\"'*};"
                      " printf '{\"id\":\"%s\",%s}\\n' \"$id\" \"$1\"; }\n"
                      "ok() { answer '\"outcome\":\"done\"'; }\n" +
                          text};
    config.stop_grace = std::chrono::milliseconds(200);
    return config;
  }
  static ExecHandlerConfig batches(ExecHandlerConfig config, unsigned group_rows = 100) {
    config.batches = true;
    config.group_rows = group_rows;
    return config;
  }

  BatchOutcome deliver(const std::vector<Record>& rows,
                       std::chrono::milliseconds time = std::chrono::seconds(10)) {
    return handler_->handle(rows, testing::call_within(time));
  }
  BatchOutcome deliver(const std::vector<Record>& rows, const CallContext& context) {
    return handler_->handle(rows, context);
  }
  Rendering render(const Record& row) { return handler_->render(row).value(); }
  void end() { handler_.reset(); }

  static std::vector<Record> rows(std::size_t count, const std::string& payload = "{}") {
    std::vector<Record> all;
    for (std::size_t n = 1; n <= count; ++n) {
      auto record = testing::make_record(payload, "row-" + std::to_string(n));
      record.sequence = n;
      all.push_back(std::move(record));
    }
    return all;
  }

  [[nodiscard]] std::filesystem::path file(const std::string& name) const {
    return folder_.path() / name;
  }
  [[nodiscard]] std::string text(const std::string& name = "out") const {
    std::ostringstream text;
    text << std::ifstream(file(name)).rdbuf();
    return text.str();
  }
  [[nodiscard]] std::size_t lines(const std::string& name = "out") const {
    const auto all = text(name);
    return static_cast<std::size_t>(std::count(all.begin(), all.end(), '\n'));
  }
  [[nodiscard]] std::string notes() const {
    const std::lock_guard lock(mutex_);
    return notes_;
  }

 private:
  testing::TemporaryFolder folder_;
  mutable std::mutex mutex_;
  std::string notes_;
  ExecHandlerConfig config_;
  std::unique_ptr<ExecHandler> handler_;
};

}  // namespace seriatim::handlers
