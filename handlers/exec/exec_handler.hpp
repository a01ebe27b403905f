#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "exec/child.hpp"
#include "exec/exec_config.hpp"
#include "seriatim/handler.hpp"
#include "seriatim/registry.hpp"
#include "support/excerpt.hpp"

namespace seriatim::handlers {

class Conversation;

/// Hands records to a child process as lines of JSON and reads its answers. What they mean is in
/// README.md in this folder.
class ExecHandler final : public Handler {
 public:
  explicit ExecHandler(ExecHandlerConfig config, NoteWriter note = {});
  ~ExecHandler() override;

  BatchOutcome handle(std::span<const Record> batch, const CallContext& context) override;
  /// With the child's environment as headers; the values of `environment` are masked.
  std::optional<Rendering> render(const Record& record) override;

 private:
  using milliseconds = std::chrono::milliseconds;

  void note(std::string text) const;
  void start(const Record& first);
  /// Why it cannot be replaced; empty: there is a child that can be talked to, or none.
  [[nodiscard]] std::string drop_unfit_child();
  [[nodiscard]] bool is_fit() const;
  /// Absent where the child had gone before it read anything: another may be asked.
  [[nodiscard]] std::optional<BatchOutcome> converse(std::span<const Record> batch,
                                                     const CallContext& context, bool is_new);
  [[nodiscard]] BatchOutcome refused(const Conversation& talk);
  [[nodiscard]] std::optional<BatchOutcome> broken(const Conversation& talk, bool is_new);
  [[nodiscard]] Outcome in_doubt(const Conversation& talk, const std::string& why) const;
  /// One that does not die is kept, and none is started next to it.
  void kill_child();
  void end_child_gently();
  [[nodiscard]] std::string shown(std::string text, std::size_t bytes_max) const;

  ExecHandlerConfig config_;
  NoteWriter note_;
  Redactor redactor_;
  std::unique_ptr<Child> child_;
  bool condemned_ = false;  ///< it is to be killed before anything else
  std::string process_;
  unsigned lane_ = 0;
};

}  // namespace seriatim::handlers
