#include "postgres/table/ids_again.hpp"

#include "postgres/wire/shell_word.hpp"

namespace seriatim::postgres {

std::string ids_again_text(const Table& table, const std::string& process,
                           const std::string& evidence) {
  const auto name = shell_word(process);
  return "ids of table " + table.name + " began again: " + evidence +
         ". Rows up to the cursor may not have been delivered: `seriatim audit " + name +
         "` names the first. Deliver them: seriatim rewind " + name +
         " --to id:FIRST --reason TEXT --yes. If only times were changed, go on behind the cursor: "
         "--to id:NEXT, or --to end if there is no row after it. If the sequence was set back, set "
         "it "
         "forward first";
}

}  // namespace seriatim::postgres
