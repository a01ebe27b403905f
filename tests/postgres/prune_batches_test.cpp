// What a batch of `prune` costs those that run along with it.
#include <doctest/doctest.h>

#include "postgres/pruned_desk.hpp"

using namespace seriatim::testing;

TEST_CASE("a batch does not wait for the disk while it holds the fence, what is journalled does") {
  Delivered desk;
  desk.database.run(
      "CREATE TABLE waited (what text, setting text);"
      "CREATE FUNCTION note_waiting() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
      " INSERT INTO waited VALUES (TG_TABLE_NAME, current_setting('synchronous_commit'));"
      " RETURN NULL; END $$;"
      "CREATE TRIGGER note AFTER DELETE ON bookings FOR EACH STATEMENT"
      " EXECUTE FUNCTION note_waiting();"
      "CREATE TRIGGER note AFTER INSERT ON seriatim.journal FOR EACH STATEMENT"
      " EXECUTE FUNCTION note_waiting()");
  CHECK(desk.prune().rows == 299);
  CHECK(desk.database.value("SELECT string_agg(DISTINCT what || ' ' || setting, ', ') FROM "
                            "waited") == "bookings off, journal on");
}

TEST_CASE("cursors are read once a batch, not once a row") {
  Delivered desk;
  desk.database.run("SELECT pg_stat_reset()");
  CHECK(desk.prune().rows == 299);
  const std::string scans =
      "SELECT sum(seq_scan + coalesce(idx_scan, 0)) FROM pg_stat_user_tables"
      " WHERE relid = 'seriatim.cursor'::regclass";
  REQUIRE(desk.database.becomes_true("SELECT (" + scans + ") > 0"));  // sent at the session's end
  CHECK(std::stoi(desk.database.value(scans)) < 150);
}
