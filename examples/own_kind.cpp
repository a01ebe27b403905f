// Delivers each row of public.charges in DATABASE_URL to the file TARGET, and ends. The handler is
// a class of its own, registered as a kind.
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <seriatim/seriatim.hpp>

class LineHandler final : public seriatim::RecordHandler {
 public:
  explicit LineHandler(std::string file) : file_(std::move(file)) {}

  seriatim::Outcome handle_record(const seriatim::Record& record,
                                  const seriatim::CallContext& /*context*/) override {
    if (!record.payload) throw seriatim::CannotRender("the payload is NULL");
    std::ofstream out(file_, std::ios::app);
    out << record.idempotency_key() << ' ' << *record.payload << std::endl;
    return out ? seriatim::Outcome::done()
               : seriatim::Outcome::retry_later("cannot write " + file_);
  }

 private:
  std::string file_;
};

int main() {
  seriatim::HandlerRegistry kinds;
  const auto configure = [](seriatim::Options& options) -> seriatim::HandlerFactory {
    return [file = options.required_text("file")](unsigned) {
      return std::make_unique<LineHandler>(file);
    };
  };
  kinds.add({.name = "line", .summary = "a line of a file a record", .configure = configure});

  const std::string database = std::getenv("DATABASE_URL");
  seriatim::install_schema(database);
  seriatim::Relay relay({.drain = true});
  relay.add({.name = "charges"}, seriatim::postgres_source(database, {.table = "public.charges"}),
            kinds.make("line", {{"file", std::getenv("TARGET")}}));
  for (const auto& lane : relay.run()) {
    if (!lane.reason) continue;
    std::cerr << "halted at row " << lane.row_id.value_or("?") << ": " << lane.detail << '\n';
    return 1;
  }
}
