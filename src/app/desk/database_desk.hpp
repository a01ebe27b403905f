#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <semaphore>
#include <string>
#include <vector>

#include "app/context.hpp"
#include "app/desk/orders.hpp"
#include "app/lanes_reader.hpp"
#include "app/shared_read.hpp"
#include "console/desk.hpp"
#include "postgres/admin/records/records_reader.hpp"

namespace seriatim::app {

/// The desk over the database. Reads of the lanes are shared with everybody else who reads
/// them; other reads have short-lived connections, a few at a time; an act has one of its own.
class DatabaseDesk final : public console::Desk {
 public:
  struct Parts {
    std::vector<const ConfiguredProcess*> processes;
    Context& context;  ///< its database was asked for before
    LanesReader& reader;
    std::function<std::string()> own_name;   ///< of this relay, as others see it
    bool masked = false;                     ///< rows have payloads, masked
    std::vector<std::string> shown_paths{};  ///< … but for these; see masked_payload
  };
  explicit DatabaseDesk(Parts parts);

  /// Acts that wait end with nothing changed, and so do those that begin.
  void give_up() { giving_up_ = true; }

  Snapshot snapshot() override;
  [[nodiscard]] bool knows(const std::string& process) const override;
  std::string rows(const std::string& process, unsigned lane, unsigned limit) override;
  std::string row(const std::string& process, const std::string& id) override;
  std::string parked(const std::string& process, const std::optional<std::string>& key,
                     const std::string& after, unsigned limit) override;
  std::string history(const std::string& process, unsigned minutes) override;
  std::string audits(const std::string& process) override;
  std::string journal(const std::optional<std::string>& process, const std::string& before,
                      unsigned limit) override;
  std::string journal_after(const std::string& number, unsigned limit) override;
  std::string checks() override;
  std::string alerts(const std::string& before, unsigned limit) override;
  std::string relays() override;
  std::string act(const console::Order& order) override;
  std::string reveal(const std::string& process, const std::string& id, const std::string& who,
                     const std::string& reason) override;
  std::string recount(const std::string& process, const std::string& who, const Progress& progress,
                      std::stop_token stop) override;

 private:
  [[nodiscard]] const postgres::Target& target_of(const std::string& process) const;
  [[nodiscard]] std::string shown(const std::string& text) const;
  std::string perform(const postgres::Target& target, const console::Order& order);
  std::string lane_now(const postgres::Target& target, const console::Order& order);
  [[noreturn]] void conflict(const postgres::Target& target, const console::Order& order,
                             const postgres::NotAsExpected& changed);
  using Report = std::function<std::string(postgres::Admin&)>;
  std::string read(const Report& report);
  std::string read_named(const Report& report);

  Parts parts_;
  std::string url_;
  std::vector<std::string> names_;      ///< of the processes
  std::vector<std::string> concerned_;  ///< … and '', for what concerns none
  postgres::RecordsReader records_;
  SharedRead<std::optional<std::uint64_t>> alerts_open_;
  SharedRead<std::string> checks_;
  std::counting_semaphore<> reads_;
  std::atomic<bool> giving_up_ = false;
};

}  // namespace seriatim::app
