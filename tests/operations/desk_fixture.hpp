#pragma once

#include <doctest/doctest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <optional>
#include <string>

#include "app/desk/database_desk.hpp"
#include "cli/stage.hpp"

namespace seriatim::testing {

namespace json = boost::json;

/// The desk over a process "p" of table bookings, by customer, whose receiver refuses some rows.
struct DeskStage : Stage {
  explicit DeskStage(const std::string& settings = {}, unsigned lanes = 1) {
    database.run(
        "CREATE TABLE bookings (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, customer text,"
        " payload json, created_at timestamptz NOT NULL DEFAULT clock_timestamp());"
        "CREATE INDEX ON bookings (created_at, id);");
    configure(process("kind = \"http\"\nallow_private = true\nurl = \"" + receiver.url() + '"',
                      settings + "\nlanes = " + std::to_string(lanes) + '\n',
                      "table = \"public.bookings\"\nkey = \"customer\"\npayload = \"payload\""));
    receiver.reply_with([](const lab::ReceivedRequest& request) {
      const bool bad = request.body.find("refuse") != std::string::npos;
      return lab::Reply::with_status(bad ? 422 : 200, bad ? "no such number" : "");
    });
  }

  /// For customer "7", "8" or another.
  void book(const std::string& customer, const std::string& payload = R"({"phone":"+45"})") {
    database.run("INSERT INTO bookings (customer, payload) VALUES ('" + customer + "', '" +
                 payload + "')");
  }
  void book_refused(const std::string& customer) { book(customer, R"({"phone":"refuse"})"); }
  void run_until_halt() { REQUIRE(seriatim({"run", "--drain"}).code == 3); }
  void drain() { REQUIRE(seriatim({"run", "--drain"}).code == 0); }

  app::DatabaseDesk& desk() {
    if (desk_) return *desk_;
    context_.emplace(app::Context::Options{(folder.path() / "seriatim.toml").string(), false},
                     secrets_);
    static_cast<void>(context_->database_url());
    const auto processes = context_->processes({});
    reader_.emplace(processes, *context_);
    desk_.emplace(app::DatabaseDesk::Parts{processes,
                                           *context_,
                                           *reader_,
                                           [] { return std::string("host:1:own"); },
                                           masked,
                                           {"payload.type"}});
    return *desk_;
  }
  /// As it is now: what `status` shares may be a moment old.
  json::value lane(unsigned number = 0) {
    const auto status = json::parse(seriatim({"status", "--json"}).out);
    return status.at("lanes").at(number);
  }

  static console::Order order(const std::string& act) {
    console::Order order;
    order.process = "p";
    order.act = act;
    order.reason = "the number is wrong";
    order.who = "alice (console 10.0.0.7)";
    return order;
  }
  /// As the page sends it: with what it shows of the lane.
  console::Order order_seeing(const std::string& act) {
    auto asked = order(act);
    const auto seen = lane();
    asked.seen.lane = 0;
    asked.seen.epoch = seen.at("epoch").to_number<std::uint64_t>();
    asked.seen.state = std::string(seen.at("state").as_string());
    asked.seen.row = std::string(seen.at("row").as_string());
    asked.seen.attempts = seen.at("attempts").to_number<unsigned>();
    return asked;
  }
  json::value act(const console::Order& asked) { return json::parse(desk().act(asked)); }
  /// The state of lane that a Conflict names.
  json::value conflict_of(const console::Order& asked) {
    try {
      desk().act(asked);
    } catch (const console::Conflict& conflict) {
      return json::parse(conflict.status);
    }
    FAIL("no conflict");
    return nullptr;
  }
  std::string last_entry(const std::string& columns) {
    return database.value("SELECT concat_ws('|', " + columns +
                          ") FROM seriatim.journal WHERE act NOT IN ('begin', 'claim', 'release', "
                          "'halt', 'park') ORDER BY id DESC LIMIT 1");
  }

  lab::HttpService receiver;
  bool masked = false;

 private:
  app::Secrets secrets_;
  std::optional<app::Context> context_;
  std::optional<app::LanesReader> reader_;
  std::optional<app::DatabaseDesk> desk_;
};

}  // namespace seriatim::testing
