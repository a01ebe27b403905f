// The program seriatim.
#include "app/command_line.hpp"
#include "app/program.hpp"

int main(int count, char** arguments) {
  using namespace seriatim::app;
  return run_program([&](Secrets& secrets) {
    const auto parsed = parse_command_line(count, arguments);
    if (const auto* said = std::get_if<Answer>(&parsed)) return say(*said);
    const auto& command = std::get<Command>(parsed);
    Context context(command.common, secrets);
    return std::visit([&](const auto& verb) { return perform(verb, context); }, command.verb);
  });
}
