#include "postgres/admin/check/setup_recheck.hpp"

#include <utility>

#include "postgres/admin/check/check.hpp"
#include "postgres/admin/check/check_table.hpp"
#include "postgres/admin/check/findings.hpp"
#include "postgres/wire/sql_text.hpp"
#include "seriatim/error.hpp"
#include "sql/check.hpp"
#include "sql/table.hpp"

namespace seriatim::postgres {

bool SoundSetup::is_known() {
  const std::scoped_lock guard(mutex_);
  return digest_.has_value();
}

bool SoundSetup::knows(const std::string& digest) {
  const std::scoped_lock guard(mutex_);
  return digest_ == digest;
}

void SoundSetup::note(const std::string& digest) {
  const std::scoped_lock guard(mutex_);
  digest_ = digest;
}

SetupRecheck::SetupRecheck(Connection& connection, const Table& table, Target target,
                           std::shared_ptr<SoundSetup> sound, milliseconds interval)
    : connection_(connection),
      table_(table),
      target_(std::move(target)),
      sound_(std::move(sound)),
      interval_(interval) {
  if (!sound_->is_known()) sound_->note(ask()["digest"].as<std::string>(""));
}

pqxx::row SetupRecheck::ask() {
  return connection_.run(fill(sql::check::setup_digest,
                              {{"policies_let_all_through", sql::table::policies_let_all_through}}),
                         {table_.oid, table_.id_name, table_.created_at_name})[0];
}

void SetupRecheck::refuse_unsound() {
  if (!due()) return;
  const auto row = ask();
  const auto digest = row["digest"].as<std::string>("");
  if (!sound_->knows(digest)) {
    Findings findings;
    TableCheck check{connection_, target_, findings, row["role"].c_str()};
    check_source(check);
    const auto refused = refusals(findings.take());
    if (!refused.empty()) throw SourceBroken(HaltReason::source_changed, refused);
    sound_->note(digest);
  }
  due_at_ = Clock::now() + interval_;
}

}  // namespace seriatim::postgres
