#include "postgres/store/membership.hpp"

#include <utility>

#include "postgres/wire/connection.hpp"
#include "sql/store.hpp"

namespace seriatim::postgres {

namespace {

constexpr milliseconds silence_max{3'000};

class PostgresMembership final : public MembershipSession {
 public:
  PostgresMembership(const std::string& url, const ProcessConfig& config, std::string holder,
                     std::shared_ptr<CursorMemory> memory)
      : connection_(url, {.application = "seriatim/" + config.name + "/lanes"}),
        process_(config.name),
        holder_(std::move(holder)),
        lanes_(config.lanes),
        memory_(std::move(memory)) {}

  Membership read(bool notify) override {
    const auto rows = connection_.run_prepared(
        sql::store::read_membership,
        {process_, holder_, std::to_string(lanes_), connection_.own_backend(),
         std::to_string(silence_max.count()), notify ? "true" : "false"});
    Membership membership;
    membership.lanes.resize(lanes_);
    for (const auto& row : rows) add(row, membership);
    return membership;
  }

  void leave() override { connection_.run(sql::store::leave_membership, {process_, holder_}); }

 private:
  void add(const pqxx::row& row, Membership& membership) const {
    const bool as_ours = row["lanes"].as<unsigned>() == lanes_;
    auto holder = row["holder"].as<std::string>();
    if (row["lane"].is_null()) {
      if (as_ours) membership.instances.push_back(std::move(holder));
    } else if (!as_ours) {
      membership.cut_otherwise = true;
    } else {
      const auto lane = row["lane"].as<unsigned>();
      memory_->saw({process_, lane, lanes_},
                   {row["epoch"].as<std::string>(), row["lease_until"].as<std::string>(""),
                    milliseconds{row["lease_ms"].as<std::int64_t>(0)}});
      membership.lanes[lane] = {std::move(holder), row["free"].as<bool>()};
    }
  }

  Connection connection_;
  const std::string process_;
  const std::string holder_;
  const unsigned lanes_;
  std::shared_ptr<CursorMemory> memory_;
};

}  // namespace

std::unique_ptr<MembershipSession> open_membership(const std::string& url,
                                                   const ProcessConfig& config,
                                                   const std::string& holder,
                                                   std::shared_ptr<CursorMemory> memory) {
  return std::make_unique<PostgresMembership>(url, config, holder, std::move(memory));
}

}  // namespace seriatim::postgres
